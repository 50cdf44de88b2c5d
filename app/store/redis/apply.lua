-- Apply changes to one partition: one hash, one call, one write command.
--
-- A transaction of many commands is not safe: a server that starts from an append-only file that ends in the middle of
-- one may apply half of it. So all is decided first, and written by a single HSET at the end.
--
-- KEYS[1]  the partition
-- ARGV     1 rules that the changes were made for   2 bins of the scale   3 length of the change log
--          4 time in microseconds   5 whether to write even where nothing changes (what confirms a write needs one)
--          then for each change: id, version or '', fingerprint, excluded (0 or 1), bin or -1,
--          labels as JSON [entity, bin, ...], facets as JSON, content or '' (which deletes), vector or ''
-- Returns  one outcome a change; or, before anything is written, CHANGED, LARGE (more fields than one command can take),
--          or an error
--
-- Fields   d:<id>    [version, present, fingerprint, excluded, bin, [entity, bin, ...], [facet, ...], changed_us]
--          c:<id>    content          v:<id>  vector
--          <facet><entity>  counts by bin; without an entity, over all of them (facets: app/store/facets.py)
--          l:<n>     change log, a ring: [seq, chain, id] with n = seq mod length
--          m         [seq, chain, documents]
--          s         rules: positions of the scale, a hash of the registry that the labels follow, and a generation
--          r         number of repairs        x:<entity>  external target
local key, rules, bins, ring, now, touch = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]

local present_rules = redis.call('HGET', key, 's')
if present_rules and present_rules ~= rules then return 'CHANGED' end

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
local function count(name, bin, by)
    local row = counts[name]
    if not row then
        row = {}
        for n in string.gmatch(redis.call('HGET', key, name) or '', '[^,]+') do row[#row + 1] = tonumber(n) end
        for b = #row + 1, bins do row[b] = 0 end
        counts[name] = row
    end
    row[bin + 1] = row[bin + 1] + by
    return row[bin + 1] >= 0
end
local function count_all(facets, labels, by)
    for _, facet in ipairs(facets) do
        for j = 1, #labels, 2 do
            if not (count(facet .. labels[j], labels[j + 1], by) and count(facet, labels[j + 1], by)) then return false end
        end
    end
    return true
end
local function equal(a, b)
    if #a ~= #b then return false end
    for i = 1, #a do
        if a[i] ~= b[i] then return false end
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
for i = 6, #ARGV, 9 do
    local id, version, fingerprint, excluded, bin = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
    local labels, facets, content, vector = ARGV[i + 5], ARGV[i + 6], ARGV[i + 7], ARGV[i + 8]
    local raw = get('d:' .. id)
    local readable, old = pcall(cjson.decode, raw or '["0",0,"",0,-1,[],[],0]')
    if not readable then return redis.error_reply('UNREADABLE the stored document ' .. id) end
    local present, deletes, new = old[2] == 1, content == '', cjson.decode(labels)
    local same = present and not deletes and old[3] == fingerprint
    local completes = false
    if same and (version == '' or version == old[1]) then
        -- The same content is written again where it brings the vector that was missing, has other labels by now, or
        -- what is stored has been damaged.
        local had = get('v:' .. id) or ''
        completes = (had == '' and vector ~= '') or not equal(old[6], new) or get('c:' .. id) ~= content
        if vector == '' then vector = had end
    end
    local outcome
    if completes then
        version = old[1]
    elseif deletes and version == '' then
        outcome = not present and 'absent'
        version = old[1]
    elseif version == '' then
        outcome = same and 'unchanged'
        version = next_version(old[1])
        if newer(now, version) then version = now end
        if newer(version, '9223372036854775807') then version = '9223372036854775807' end
    elseif raw and newer(old[1], version) then
        outcome = 'stale'
    elseif raw and version == old[1] then
        if deletes then outcome = present and 'conflict' or 'absent'
        else outcome = same and 'unchanged' or present and 'conflict' or 'stale' end
    elseif same and vector == '' then
        vector = get('v:' .. id) or ''
    end
    if not outcome then
        if present and old[4] == 0 and not count_all(old[7], old[6], -1) then
            return redis.error_reply('DRIFT a count would fall below zero')
        end
        if not deletes and excluded == '0' then count_all(cjson.decode(facets), new, 1) end
        documents = documents + (deletes and 0 or 1) - (present and 1 or 0)
        put('d:' .. id, '["' .. version .. '",' .. (deletes and 0 or 1) .. ',"' .. fingerprint .. '",' .. excluded .. ',' .. bin .. ',' .. labels .. ',' .. facets .. ',' .. now .. ']')
        put('c:' .. id, content)
        put('v:' .. id, vector)
        seq = seq + 1
        chain = string.sub(redis.sha1hex(chain .. '|' .. id .. '|' .. version), 1, 16)
        put('l:' .. string.format('%.0f', seq % ring), '[' .. string.format('%.0f', seq) .. ',"' .. chain .. '",' .. cjson.encode(id) .. ']')
        outcome = deletes and (present and 'deleted' or 'absent') or (present and 'updated' or 'created')
    end
    outcomes[#outcomes + 1] = outcome
end

if seq ~= before then
    for name, row in pairs(counts) do
        for b = 1, bins do row[b] = string.format('%.0f', row[b]) end
        put(name, table.concat(row, ',', 1, bins)) -- a row of an earlier scale, of zeros, may have been longer
    end
    put('m', '[' .. string.format('%.0f', seq) .. ',"' .. chain .. '",' .. string.format('%.0f', documents) .. ']')
    put('s', rules)
    local fields = {}
    for _, field in ipairs(order) do
        fields[#fields + 1] = field
        fields[#fields + 1] = written[field]
    end
    if #fields > 7900 and #ARGV > 14 then return 'LARGE' end -- Lua unpacks 8,000 values; a change alone is always fewer
    redis.call('HSET', key, unpack(fields))
elseif touch == '1' then
    redis.call('HSET', key, 's', rules)
end
return outcomes
