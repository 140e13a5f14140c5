-- Gives the notes that still count: session, note, session, note, ….
local found = {}
local notes = redis.call('HGETALL', KEYS[1])
for i = 1, #notes, 2 do
    local ends, note = string.match(notes[i + 1], '^(%d+) (.*)$')
    if tonumber(ends) > now then
        found[#found + 1] = notes[i]
        found[#found + 1] = note
    end
end
return found
