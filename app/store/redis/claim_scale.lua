-- Take over a scale, unless documents refer to another one. KEYS[1] the partition, ARGV[1] positions. 1 done, 0 refused.
local state, scale = redis.call('HGET', KEYS[1], 'm'), redis.call('HGET', KEYS[1], 's')
if scale == ARGV[1] then return 1 end
if state and cjson.decode(state)[3] > 0 then return 0 end
redis.call('HSET', KEYS[1], 's', ARGV[1])
return 1
