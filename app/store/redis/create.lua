-- Make a collection, and fix its vector space, unless they are there: one write command.
-- KEYS[1] the catalog   ARGV 1 field of the settings   2 settings   3 field of the registry   4 registry
--         5 field of the vector space, or '' where none is to be fixed   6 vector space
local key, fields = KEYS[1], {}
local settings = redis.call('HGET', key, ARGV[1])
if settings then fields = { ARGV[1], settings } -- as it is: what confirms a write needs one
else fields = { ARGV[1], ARGV[2], ARGV[3], ARGV[4] } end
if ARGV[5] ~= '' and not redis.call('HGET', key, ARGV[5]) then
    fields[#fields + 1] = ARGV[5]
    fields[#fields + 1] = ARGV[6]
end
redis.call('HSET', key, unpack(fields))
return 1
