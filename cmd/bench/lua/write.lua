-- Sends POST /v1/pets with BODY in PERCENT of 100 requests and GET /v1/pets in the others.
-- With KEYS true, each POST has an Idempotency-Key of its own.
-- Arguments: PERCENT KEYS BODY ROUND

local percent, round, list, head, tail
local sent = 0

function init(args)
   percent, round = tonumber(args[1]), args[4]
   math.randomseed(tonumber(round))
   list = wrk.format("GET", "/v1/pets")
   wrk.headers["Content-Type"] = "application/json"
   wrk.headers["Idempotency-Key"] = args[2] == "true" and "@KEY@" or nil
   head = wrk.format("POST", "/v1/pets", nil, args[3])
   if args[2] == "true" then
      head, tail = head:match("^(.*)@KEY@(.*)$")
   end
end

function request()
   if math.random(100) > percent then
      return list
   elseif not tail then
      return head
   end
   sent = sent + 1
   return head .. "bench-" .. round .. "-" .. sent .. tail
end
