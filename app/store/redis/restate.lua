-- Give a partition a new state in place of one that nobody can read, unless others have written since.
-- KEYS[1] the partition   ARGV 1 what is stored as its state   2 new state   Returns 1 done, 0 refused
if redis.call('HGET', KEYS[1], 'm') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'm', ARGV[2])
return 1
