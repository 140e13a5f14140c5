-- In front of every script on a client ID. KEYS[1] is a hash with the fields below, those of the
-- displaced holder with "previous_" before them, and tools, prompts, resources, rest (hashes of
-- content), began (when the holder's register did, an epoch), departed and departed_at (after a
-- departure), nonces (of earlier claims).
--
-- Numbers of 64 bits are text: a Lua number has 53. Nonces and incarnations are 16 hexadecimal
-- digits, compared for equality. Connection numbers are 20 decimal digits, so that they compare
-- as text. Epochs are decimal and stay below 2^53, for they are times in microseconds.
local function read_holder(prefix)
  local fields = redis.call('HMGET', KEYS[1], prefix .. 'node', prefix .. 'epoch',
    prefix .. 'incarnation', prefix .. 'nonce', prefix .. 'instance', prefix .. 'connection',
    prefix .. 'resume')
  if not fields[1] then
    return nil
  end
  return {
    node = fields[1],
    epoch = fields[2],
    incarnation = fields[3],
    nonce = fields[4],
    instance = fields[5],
    connection = fields[6],
    resume = fields[7],
  }
end

local function write_holder(prefix, holder)
  redis.call('HSET', KEYS[1], prefix .. 'node', holder.node, prefix .. 'epoch', holder.epoch,
    prefix .. 'incarnation', holder.incarnation, prefix .. 'nonce', holder.nonce,
    prefix .. 'instance', holder.instance, prefix .. 'connection', holder.connection,
    prefix .. 'resume', holder.resume)
end

local function write_hashes(tools, prompts, resources, rest)
  redis.call('HSET', KEYS[1], 'tools', tools, 'prompts', prompts, 'resources', resources,
    'rest', rest)
end

-- Adds a holder to an answer; nothing if there is none.
local function with_holder(answer, holder)
  if holder then
    for _, value in ipairs({ holder.node, holder.epoch, holder.incarnation, holder.nonce,
      holder.instance, holder.connection, holder.resume }) do
      table.insert(answer, value)
    end
  end
  return answer
end

local function has_departed()
  return redis.call('HEXISTS', KEYS[1], 'departed') == 1
end

local function is_claim(holder, epoch, incarnation, nonce)
  return holder ~= nil and holder.epoch == epoch and holder.incarnation == incarnation
    and holder.nonce == nonce
end
