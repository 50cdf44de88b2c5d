-- Take over rules: none that are older than the present ones, and those of another scale only while no document refers
-- to the present one. Rules are <positions>|<registry>, and behind another | their generation, unless that is 0.
-- KEYS[1] the partition   ARGV 1 positions of the scale   2 rules   3 their generation
-- Returns 1 done, 0 refused for the scale, -g refused since the present rules are of the generation g
local state, present = redis.call('HGET', KEYS[1], 'm'), redis.call('HGET', KEYS[1], 's')
if present then
    local generation = tonumber(string.match(present, '^[^|]*|[^|]*|(%d+)$') or '0')
    if generation > tonumber(ARGV[3]) then return -generation end
    local holds = state and cjson.decode(state)[3] > 0
    if holds and string.sub(present, 1, #ARGV[1] + 1) ~= ARGV[1] .. '|' then return 0 end
end
redis.call('HSET', KEYS[1], 's', ARGV[2]) -- the same ones too: what confirms a write needs one
return 1
