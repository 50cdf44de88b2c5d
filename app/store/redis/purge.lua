-- Forget deleted documents and counts that are zero, of those named: each is looked at again here, and all go by one HDEL.
-- KEYS[1] the partition   ARGV 1 time in microseconds; later deletions stay   then fields   Returns how many were forgotten
local key, before, gone, n = KEYS[1], tonumber(ARGV[1]), {}, 0
for i = 2, #ARGV do
    local field = ARGV[i]
    local value = redis.call('HGET', key, field)
    if value and string.sub(field, 1, 2) == 'd:' then
        local record, id = cjson.decode(value), string.sub(field, 3)
        if record[2] == 0 and record[8] < before then
            n = n + 1
            for _, kind in ipairs({ 'd:', 'c:', 'v:' }) do gone[#gone + 1] = kind .. id end
        end
    elseif value and not string.find(value, '[^0,]') then
        n = n + 1
        gone[#gone + 1] = field
    end
end
if n > 0 then redis.call('HDEL', key, unpack(gone)) end
return n
