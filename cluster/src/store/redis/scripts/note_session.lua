-- Notes something of a session. A session that was ended stays so.
-- ARGV: session, note, ttl ms, how many are kept, the note of an ended session.
local until_ms = now + ARGV[3]
local before = redis.call('HGET', KEYS[1], ARGV[1])
if before and string.match(before, '^%d+ (.*)$') == ARGV[5] and ARGV[2] ~= ARGV[5] then
    return false
end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', until_ms) .. ' ' .. ARGV[2])
local kept = redis.call('HLEN', KEYS[1])
if kept > tonumber(ARGV[4]) then
    local soonest, when
    local notes = redis.call('HGETALL', KEYS[1])
    for i = 1, #notes, 2 do
        local ends = tonumber(string.match(notes[i + 1], '^%d+'))
        if ends <= now then
            redis.call('HDEL', KEYS[1], notes[i])
            kept = kept - 1
        elseif not when or ends < when then
            soonest, when = notes[i], ends
        end
    end
    if kept > tonumber(ARGV[4]) then
        redis.call('HDEL', KEYS[1], soonest)
    end
end
local left = redis.call('PTTL', KEYS[1])
if left < 0 or now + left < until_ms then
    redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', until_ms))
end
return false
