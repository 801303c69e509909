-- Sends POST /v1/pets with BODY in POSTS of 100 requests, and in the others GET PATH, followed by a random
-- number from 1 to COUNT unless that is 0. The @C in BODY becomes a random number from 10 on, one of CATEGORIES.
-- With KEYS true, each POST has an Idempotency-Key of its own.
-- Prints the result as JSON in the last line, with times in microseconds.
-- Arguments: PATH COUNT POSTS KEYS BODY CATEGORIES SEED

local count, posts, keys, categories, seed
local get, getEnd, post, postMiddle, postEnd
local sent = 0

function init(args)
   count, posts, keys, categories, seed = tonumber(args[2]), tonumber(args[3]), args[4] == "true", tonumber(args[6]), tonumber(args[7])
   math.randomseed(seed)
   -- Formatted once: formatting each request would make wrk slower than the server.
   get, getEnd = wrk.format("GET", args[1] .. "@NUMBER@"):match("^(.*)@NUMBER@(.*)$")
   wrk.headers["Content-Type"], wrk.headers["Idempotency-Key"] = "application/json", keys and "@KEY@" or nil
   post, postEnd = wrk.format("POST", "/v1/pets", nil, args[5]):match("^(.*)@C(.*)$")
   if keys then
      post, postMiddle = post:match("^(.*)@KEY@(.*)$")
   end
end

function request()
   if math.random(100) > posts then
      return get .. (count > 0 and math.random(count) or "") .. getEnd
   end
   local category = math.random(10, 9 + categories)
   if not keys then
      return post .. category .. postEnd
   end
   sent = sent + 1
   return post .. "bench-" .. seed .. "-" .. sent .. postMiddle .. category .. postEnd
end

function done(summary, latency)
   local e = summary.errors
   io.write(string.format('\n{"requests":%d,"duration":%d,"failures":%d,"mean":%f,"p99":%f}\n', summary.requests, summary.duration,
      e.connect + e.read + e.write + e.status + e.timeout, latency.mean, latency:percentile(99)))
end
