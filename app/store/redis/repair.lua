-- Add to counts what a recount found missing, unless others have mended since. Changes since move both alike.
-- KEYS[1] the partition   ARGV 1 repairs before the recount   2 bins of the scale   3 documents to add
--         then for each count: its field, bin, what to add
-- Returns 1 done, 0 another repair came first
local key, repairs, bins = KEYS[1], redis.call('HGET', KEYS[1], 'r') or '0', tonumber(ARGV[2])
if repairs ~= ARGV[1] then return 0 end
local rows, fields = {}, { 'r', string.format('%.0f', tonumber(repairs) + 1) }
for i = 4, #ARGV, 3 do
    local name = ARGV[i]
    local row = rows[name]
    if not row then
        row = {}
        for n in string.gmatch(redis.call('HGET', key, name) or '', '[^,]+') do row[#row + 1] = tonumber(n) or 0 end
        for b = #row + 1, bins do row[b] = 0 end
        rows[name] = row
    end
    row[ARGV[i + 1] + 1] = row[ARGV[i + 1] + 1] + ARGV[i + 2]
end
for name, row in pairs(rows) do
    for b = 1, #row do row[b] = string.format('%.0f', row[b]) end
    fields[#fields + 1] = name
    fields[#fields + 1] = table.concat(row, ',')
end
if ARGV[3] ~= '0' then
    local m = cjson.decode(redis.call('HGET', key, 'm') or '[0,"",0]')
    fields[#fields + 1] = 'm'
    fields[#fields + 1] = '[' .. string.format('%.0f', m[1]) .. ',"' .. m[2] .. '",' .. string.format('%.0f', m[3] + ARGV[3]) .. ']'
end
redis.call('HSET', key, unpack(fields))
return 1
