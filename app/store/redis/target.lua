-- Keep an external target, or forget it: one write command.
-- KEYS[1] the partition   ARGV 1 rules that the entity's name was found by   2 field   3 target, or '' to forget it
--         4 only where this one is there: a target, '' for none, '*' for whatever it is
-- Returns whether there was one before; or, and nothing is written, CHANGED, or -1 where another one is there
local key, rules, field, target, expected = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local present = redis.call('HGET', key, 's')
if present and present ~= rules then return 'CHANGED' end
local before = redis.call('HGET', key, field)
if expected ~= '*' and (before or '') ~= expected then return -1 end
if target ~= '' then redis.call('HSET', key, field, target)
elseif before then redis.call('HDEL', key, field)
else redis.call('HSET', key, 's', rules) end -- what confirms a write needs one
return before and 1 or 0
