-- Put a collection's settings, unless others stand there than those that the caller knows: one write command.
-- KEYS[1] the catalog   ARGV 1 field of the settings   2 what the caller found there, or ''   3 new settings
--         4 field of the registry   5 new registry   Returns 1 done, 0 refused
if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3], ARGV[4], ARGV[5])
return 1
