-- Keep an external target, or forget it: one write command.
-- KEYS[1] the partition   ARGV 1 field   2 target, or '' to forget it   Returns whether there was one before
local had = redis.call('HEXISTS', KEYS[1], ARGV[1])
if ARGV[2] ~= '' then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
elseif had == 1 then redis.call('HDEL', KEYS[1], ARGV[1])
else redis.call('HSET', KEYS[1], 'r', redis.call('HGET', KEYS[1], 'r') or '0') end -- what confirms a write needs one
return had
