-- Apply changes to one partition: one hash, one call, one write command.
--
-- A transaction of many commands is not safe: a server that starts from an append-only file that ends in the middle of
-- one may apply half of it. So all is decided first, and written by a single HSET at the end.
--
-- KEYS[1]  the partition
-- ARGV     1 positions of the scale   2 bins of the scale   3 length of the change log   4 time in microseconds
--          then for each change: id, version or '', fingerprint, excluded (0 or 1), bin or -1,
--          opinions as JSON [entity, bin, ...], content or '' (which deletes), vector or ''
-- Returns  one outcome a change, or an error before anything is written
--
-- Fields   d:<id>    [version, present, fingerprint, excluded, bin, [entity, bin, ...]]
--          c:<id>    content          v:<id>  vector
--          p:<entity> counts by bin   p:      the same over all entities
--          l:<n>     change log, a ring: [seq, chain, id] with n = seq mod length
--          m         [seq, chain, documents]
--          s         positions of the scale
local key, positions, bins, ring, now = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]

local scale = redis.call('HGET', key, 's')
if scale and scale ~= positions then return redis.error_reply('CHANGED the scale is ' .. scale) end

-- Versions are decimal strings, compared as such: Lua's numbers hold 53 bits.
local function newer(a, b)
    if #a ~= #b then return #a > #b end
    return a > b
end
local function next_version(version)
    local digits, i = { version:byte(1, -1) }, #version
    while i > 0 and digits[i] == 57 do
        digits[i] = 48
        i = i - 1
    end
    if i == 0 then return '1' .. string.char(unpack(digits)) end
    digits[i] = digits[i] + 1
    return string.char(unpack(digits))
end

local written, order = {}, {}
local function put(field, value)
    if written[field] == nil then order[#order + 1] = field end
    written[field] = value
end
local function get(field)
    local value = written[field]
    if value ~= nil then return value end
    return redis.call('HGET', key, field)
end

local counts = {}
local function count(entity, bin, by)
    for _, name in ipairs({ entity, '' }) do
        local row = counts[name]
        if not row then
            row = {}
            for n in string.gmatch(redis.call('HGET', key, 'p:' .. name) or '', '[^,]+') do row[#row + 1] = tonumber(n) end
            for b = #row + 1, bins do row[b] = 0 end
            counts[name] = row
        end
        row[bin + 1] = row[bin + 1] + by
        if row[bin + 1] < 0 then return false end
    end
    return true
end

local state = redis.call('HGET', key, 'm')
local seq, chain, documents = 0, '', 0
if state then
    local m = cjson.decode(state)
    seq, chain, documents = m[1], m[2], m[3]
end

local outcomes, before = {}, seq
for i = 5, #ARGV, 8 do
    local id, version, fingerprint, excluded, bin = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
    local opinions, content, vector = ARGV[i + 5], ARGV[i + 6], ARGV[i + 7]
    local raw = get('d:' .. id)
    local old = raw and cjson.decode(raw) or { '0', 0, '', 0, -1, {} }
    local present, deletes = old[2] == 1, content == ''
    local same = present and old[3] == fingerprint
    local completes = same and vector ~= '' and (version == '' or version == old[1]) and (get('v:' .. id) or '') == ''
    local outcome
    if deletes then
        outcome = present and 'deleted' or 'absent'
        version = old[1]
    elseif completes then
        version = old[1]
    elseif version == '' then
        outcome = same and 'unchanged'
        version = next_version(old[1])
        if newer(now, version) then version = now end
        if newer(version, '9223372036854775807') then version = '9223372036854775807' end
    elseif raw and newer(old[1], version) then
        outcome = 'stale'
    elseif raw and version == old[1] then
        outcome = same and 'unchanged' or present and 'conflict' or 'stale'
    end
    if not outcome or outcome == 'deleted' then
        outcome = outcome or (present and 'updated' or 'created')
        if present and old[4] == 0 then
            for j = 1, #old[6], 2 do
                if not count(old[6][j], old[6][j + 1], -1) then return redis.error_reply('DRIFT a count would fall below zero') end
            end
        end
        if not deletes and excluded == '0' then
            local new = cjson.decode(opinions)
            for j = 1, #new, 2 do count(new[j], new[j + 1], 1) end
        end
        documents = documents + (deletes and 0 or 1) - (present and 1 or 0)
        put('d:' .. id, '["' .. version .. '",' .. (deletes and 0 or 1) .. ',"' .. fingerprint .. '",' .. excluded .. ',' .. bin .. ',' .. opinions .. ']')
        put('c:' .. id, content)
        put('v:' .. id, vector)
        seq = seq + 1
        chain = string.sub(redis.sha1hex(chain .. '|' .. id .. '|' .. version), 1, 16)
        put('l:' .. string.format('%.0f', seq % ring), '[' .. string.format('%.0f', seq) .. ',"' .. chain .. '",' .. cjson.encode(id) .. ']')
    end
    outcomes[#outcomes + 1] = outcome
end

if seq ~= before then
    for name, row in pairs(counts) do
        for b = 1, bins do row[b] = string.format('%.0f', row[b]) end
        put('p:' .. name, table.concat(row, ','))
    end
    put('m', '[' .. string.format('%.0f', seq) .. ',"' .. chain .. '",' .. string.format('%.0f', documents) .. ']')
    put('s', positions)
    local fields = {}
    for _, field in ipairs(order) do
        fields[#fields + 1] = field
        fields[#fields + 1] = written[field]
    end
    redis.call('HSET', key, unpack(fields))
end
return outcomes
