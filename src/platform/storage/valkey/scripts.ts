/**
 * What the server runs, in its Lua. A counter is a string, `<window>:<current>:<previous>`, in decimal.
 *
 * Lua's numbers are doubles: amounts and times are exact up to 2^53. A script writes last, so one that fails has changed
 * nothing, and `#!lua` has a server that may not write refuse it before it runs.
 */

const readCounter = `#!lua
local seq, current, previous
local stored = redis.call('GET', KEYS[1])
if stored then
  seq, current, previous = string.match(stored, '^(%d+):(%d+):(%d+)$')
  seq, current, previous = tonumber(seq), tonumber(current), tonumber(previous)
end

-- Gives budget of a window back. True: the counter has changed.
local function refund(window, amount)
  if seq == window and current > 0 then
    current = math.max(0, current - amount)
  elseif seq == window + 1 and previous > 0 then
    previous = math.max(0, previous - amount)
  else
    return false
  end
  return true
end

local function text(window, now, before)
  return string.format('%.0f:%.0f:%.0f', window, now, before)
end
`;

/**
 * Charges the counter KEYS[1] as `chargeCounter` decides. ARGV: duration, limit, cost, need, chunk, held, heldSeq and, under a
 * clock that tests turn, the time. Returns `<granted>:<amount>:<window>:<current>:<previous>:<stored>`, where granted and stored are 0
 * or 1: a text, as the client rounds integers close to 2^53.
 */
export const chargeScript: string = `${readCounter}
local CLOCK_ERROR_MS = 60000
local LAST_DATE = 8640000000000000
local MAX_SAFE = 9007199254740991
-- Time by a clock that tests turn may stand still.
local TEST_TTL_MS = 3600000

local duration, limit, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local need, chunk = tonumber(ARGV[4]), tonumber(ARGV[5])
local held, heldSeq = tonumber(ARGV[6]), tonumber(ARGV[7])
local now = tonumber(ARGV[8])
local leastTtl = 1
if now then
  leastTtl = TEST_TTL_MS
else
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- trunc(amount * left / duration) for left <= duration.
local function weigh(amount, left)
  local product = amount * left
  if product <= MAX_SAFE then return math.floor(product / duration) end
  -- Whole durations of the amount first; the rest by long division, bit by bit, with a remainder below the duration.
  local rest = math.fmod(amount, duration)
  local whole = (amount - rest) / duration * left
  local quotient, remainder = 0, 0
  local bit = 2 ^ 52
  while bit >= 1 do
    quotient, remainder = 2 * quotient, 2 * remainder
    if remainder >= duration then
      quotient, remainder = quotient + 1, remainder - duration
    end
    if rest >= bit then
      rest = rest - bit
      if remainder >= duration - left then
        quotient, remainder = quotient + 1, remainder - (duration - left)
      else
        remainder = remainder + left
      end
    end
    bit = bit / 2
  end
  return whole + quotient
end

-- One step as planCharge decides it; nil: the held budget has to be given back first.
local function charge(held)
  local window, used, before, at = math.floor(now / duration), 0, 0, now
  if seq and seq >= window then
    local start = seq * duration
    if start - now > CLOCK_ERROR_MS then
      used = current + previous
    else
      window, used, before, at = seq, current, previous, math.max(now, start)
    end
  elseif seq == window - 1 then
    before = current
  end

  local isLeft = held > 0 and heldSeq ~= window
  local goesAlong = isLeft and seq == heldSeq and seq < window
  if isLeft and not goesAlong then return nil end
  if goesAlong then before = math.max(0, before - held) end

  local left = (math.floor(at / duration) + 1) * duration - at
  local room = limit - weigh(before, left) - used
  local heldHere = isLeft and 0 or held
  local least = math.max(0, cost - heldHere)
  if room >= least then
    local ahead = math.max(1, math.floor((room + heldHere) / 20))
    local target = math.max(need, math.min(chunk, ahead))
    local amount = math.max(least, math.min(target - heldHere, room))
    return 1, amount, window, used + amount, before, 1, amount > 0 or seq ~= window
  end
  if goesAlong then return nil end
  return 0, 0, window, used, before, seq and seq >= window and 1 or 0, seq and seq > window
end

local granted, amount, window, used, before, isStored, isChanged = charge(held)
local isRefunded = false
if not granted then
  isRefunded = refund(heldSeq, held)
  granted, amount, window, used, before, isStored, isChanged = charge(0)
end
if isChanged and seq ~= window then
  local ttl = math.max(leastTtl, math.min(LAST_DATE, (window + 3) * duration) - now)
  redis.call('SET', KEYS[1], text(window, used, before), 'PX', string.format('%.0f', ttl))
elseif isChanged then
  redis.call('SET', KEYS[1], text(window, used, before), 'KEEPTTL')
elseif isRefunded then
  redis.call('SET', KEYS[1], text(seq, current, previous), 'KEEPTTL')
end
return string.format('%d:%.0f:%.0f:%.0f:%.0f:%d', granted, amount, window, used, before, isStored)
`;

/** Gives budget of window ARGV[1] back to the counter KEYS[1]. ARGV[2]: the amount. */
export const refundScript: string = `${readCounter}
if refund(tonumber(ARGV[1]), tonumber(ARGV[2])) then
  redis.call('SET', KEYS[1], text(seq, current, previous), 'KEEPTTL')
end
`;
