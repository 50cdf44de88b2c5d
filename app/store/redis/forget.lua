-- Forget documents that nobody can read, unless others have written them since, and tell followers of it.
-- KEYS[1] the partition   ARGV 1 length of the change log   then for each: id, what is stored under d:<id>
-- Returns 1
local key, ring = KEYS[1], tonumber(ARGV[1])
local m = cjson.decode(redis.call('HGET', key, 'm') or '[0,"",0]')
local seq, chain, fields, gone = m[1], m[2], {}, {}
for i = 2, #ARGV, 2 do
    local id = ARGV[i]
    if redis.call('HGET', key, 'd:' .. id) == ARGV[i + 1] then
        for _, kind in ipairs({ 'd:', 'c:', 'v:' }) do gone[#gone + 1] = kind .. id end
        seq = seq + 1
        chain = string.sub(redis.sha1hex(chain .. '|' .. id .. '|'), 1, 16)
        fields[#fields + 1] = 'l:' .. string.format('%.0f', seq % ring)
        fields[#fields + 1] = '[' .. string.format('%.0f', seq) .. ',"' .. chain .. '",' .. cjson.encode(id) .. ']'
    end
end
if #gone > 0 then
    fields[#fields + 1] = 'm'
    fields[#fields + 1] = '[' .. string.format('%.0f', seq) .. ',"' .. chain .. '",' .. string.format('%.0f', m[3]) .. ']'
    -- First the log: who follows takes a document that cannot be read for one that is gone, should this end in between.
    redis.call('HSET', key, unpack(fields))
    redis.call('HDEL', key, unpack(gone))
end
return 1
