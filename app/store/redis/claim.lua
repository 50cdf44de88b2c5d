-- Take over rules; those of another scale only while no document refers to the present one.
-- KEYS[1] the partition   ARGV 1 positions of the scale   2 rules, which begin with the positions   Returns 1 done, 0 refused
local state, present = redis.call('HGET', KEYS[1], 'm'), redis.call('HGET', KEYS[1], 's')
if present == ARGV[2] then return 1 end
local holds = state and cjson.decode(state)[3] > 0
if holds and present and string.sub(present, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 's', ARGV[2])
return 1
