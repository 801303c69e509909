-- Adds an animal in SHARE of 100 requests and lists animals in the others.
-- With "keys", each animal comes with an Idempotency-Key of its own.
-- Arguments: SHARE keys|none ROUND

local share, round, list, head, tail
local sent = 0

function init(args)
   share, round = tonumber(args[1]), args[3]
   math.randomseed(tonumber(round))
   list = wrk.format("GET", "/v1/pets")
   wrk.headers["Content-Type"] = "application/json"
   wrk.headers["Idempotency-Key"] = args[2] == "keys" and "@KEY@" or nil
   head = wrk.format("POST", "/v1/pets", nil, '{"name":"Rex","categoryId":7,"status":"available"}')
   if args[2] == "keys" then
      head, tail = head:match("^(.*)@KEY@(.*)$")
   end
end

function request()
   if math.random(100) > share then
      return list
   elseif not tail then
      return head
   end
   sent = sent + 1
   return head .. "bench-" .. round .. "-" .. sent .. tail
end
