// This script starts Swagger UI with a plugin.

const documentURL = new URL("../openapi.json", document.baseURI);
let spec; // the document

// updateJsonSpec keeps the server that the document has relative to its own URL, which has the prefix that a proxy
// removes and the service does not know. The page's policy forbids requests to other servers.
const updateJsonSpec = (update) => (json) => {
  json.servers = json.servers
    ?.map(({ description, url, variables }) => ({ description, url: url.replace(/{(\w+)}/g, (_, name) => variables[name].default) }))
    .filter(({ url }) => !/^https?:/.test(url))
    .map(({ description, url }) => ({ description, url: new URL(url, documentURL).href.replace(/\/$/, "") }));
  spec = json;
  return update(json);
};

// getPets requests a list of animals with a bearer token.
const getPets = async (token) => {
  const path = Object.keys(spec.paths).find((path) => spec.paths[path].get?.operationId === "listPets");
  const response = await fetch(spec.servers[0].url + path, { headers: { Authorization: `Bearer ${token}` } });
  return { status: response.status, body: await response.json().catch(() => null) };
};

// focusExecute focuses Execute of an operation as soon as it is enabled and no dialog is open, unless the operation is closed.
const focusExecute = (operation) =>
  requestAnimationFrame(() => {
    if (!operation.matches(".is-open")) return;
    const button = operation.querySelector(".execute:enabled");
    if (button && !document.querySelector("dialog")) button.focus();
    else focusExecute(operation);
  });

// authorizeWithPersistOption corrects a bearer token, which may have been copied with "Bearer" or characters that are not
// visible, and rejects one that the API rejects. Then it closes the dialog and shows the open operation, or opens the
// next step: to list animals, or to add one if there is none.
const authorizeWithPersistOption = (authorize, { authActions, errActions }) => async (credentials) => {
  const [name, entered] = Object.entries(credentials)[0] ?? [];
  const isBearer = entered?.schema.get("scheme") === "bearer";
  const value = isBearer ? entered.value?.replace(/[^!-~]/g, "").replace(/^Bearer/i, "") : entered?.value;
  if (!value) return;
  errActions.clear({ authId: name });
  const list = isBearer ? await getPets(value).catch(() => ({ error: "The API cannot be reached." })) : {};
  const error = list.status === 401 ? `The API rejects this key: ${list.body?.message ?? 401}` : list.error;
  if (error) return errActions.newAuthErr({ authId: name, message: error });
  authorize({ [name]: { ...entered, value } });
  authActions.showDefinitions(false);
  const open = document.querySelector(".opblock.is-open");
  const operation = open ?? document.querySelector(list.body?.length === 0 ? ".opblock-post" : ".opblock");
  if (!open) operation?.querySelector(".opblock-summary-control").click();
  operation?.scrollIntoView();
  if (operation) focusExecute(operation);
};

// HttpAuth asks for an API key in the words of the page: Swagger UI has the name of the scheme as its title, and Value as the
// name of the field.
const HttpAuth = (HttpAuth, { React: { createElement } }) => (props) => {
  const { name, schema, authorized, errSelectors, getComponent } = props;
  if (schema.get("scheme") !== "bearer") return createElement(HttpAuth, props);
  const onChange = ({ target }) => props.onChange({ name, schema, value: target.value });
  const errors = errSelectors.allErrors().filter((error) => error.get("authId") === name);
  const field = authorized?.getIn([name, "value"])
    ? createElement("h6", null, "Authorized")
    : createElement("label", null, "API key", createElement(getComponent("Input"), { type: "text", onChange, autoFocus: true }));
  return createElement("div", null, createElement(getComponent("Markdown"), { source: schema.get("description") }), field,
    errors.valueSeq().map((error, key) => createElement(getComponent("authError"), { error, key })));
};

// authError shows why a key was rejected.
const authError = (_, { React: { createElement } }) => ({ error }) =>
  createElement("p", { role: "alert", className: "errors" }, error.get("message"));

// authorizationPopup is a modal dialog: it keeps the focus, and Escape and a click beside it close it.
const authorizationPopup = (Popup, { authActions, React: { createElement, useLayoutEffect, useRef } }) => (props) => {
  const dialog = useRef(null);
  const close = () => void authActions.showDefinitions(false);
  const onCancel = (event) => (event.preventDefault(), close()); // the event close is later than the focus
  const onMouseDown = (event) => event.target === dialog.current && close();
  useLayoutEffect(() => {
    const element = dialog.current;
    element.showModal();
    element.querySelector("input")?.focus();
    return () => element.close(); // which focuses what was focused before
  }, []);
  return createElement("dialog", { ref: dialog, "aria-label": "Authorize", onCancel, onMouseDown }, createElement(Popup, props));
};

// execute removes the response of the request before. It is disabled until Swagger UI has resolved the references of the
// operation: a request before that fails and leaves the operation loading for ever.
const execute = (Execute, { React: { createElement } }) => (props) => {
  const { operation, path, method, specActions } = props;
  const onExecute = () => {
    specActions.clearResponse(path, method);
    props.onExecute();
  };
  return createElement(Execute, { ...props, onExecute, disabled: props.disabled || operation.isEmpty() });
};

// multiSelect sends no parameter, instead of an empty one, if nothing is selected.
const multiSelect = (Select, { React: { createElement } }) => (props) => {
  if (!props.multiple) return createElement(Select, props);
  const onChange = (values) => props.onChange(values.length > 0 ? values : undefined);
  return createElement(Select, { ...props, allowEmptyValue: false, onChange });
};

// DeepLink is the text of a link: it is in a button, which must not contain another element with a focus.
const DeepLink = (_, { React: { createElement } }) => ({ text }) => createElement("span", null, text);

// liveResponse scrolls to the response of a request, which may be below the screen. It says where to enter an API key.
const liveResponse = (LiveResponse, { React: { createElement, useLayoutEffect, useRef } }) => (props) => {
  const element = useRef(null);
  useLayoutEffect(() => void element.current.scrollIntoView({ block: "nearest" }), []);
  const help = props.response.get("status") === 401 && createElement("p", null, "Press Authorize at the top of the page, and enter an API key.");
  return createElement("div", { ref: element, className: "live-response" }, help, createElement(LiveResponse, props));
};

// response shows an error that the document describes in one line, which opens. Of its examples those that concern
// Idempotency-Key come last, and a missing key before an invalid one: in the order of use.
const response = (Response, { React: { createElement } }) => (props) => {
  if (props.code < 300) return createElement(Response, props);
  const path = ["content", "application/json", "examples"];
  const rank = (code) => (code.includes("idempotency") ? 2 : code.startsWith("missing") ? 0 : 1);
  const examples = props.response.getIn(path)?.toOrderedMap().sortBy((_, code) => rank(code));
  const response = examples ? props.response.setIn(path, examples) : props.response;
  const codes = examples?.keySeq().join(", ");
  const summary = createElement("summary", null, props.code, " ", response.get("description"), codes && ": ", codes);
  const table = createElement("table", null, createElement("tbody", null, createElement(Response, { ...props, response })));
  return createElement("tr", null, createElement("td", { colSpan: 3 }, createElement("details", null, summary, table)));
};

// exactJSON indents JSON and keeps its numbers and texts as they were sent: JSON.parse alone rounds integers beyond 2^53.
// A browser that does not offer their sources shows the JSON as it is.
const exactJSON = (text) => {
  try {
    return JSON.stringify(JSON.parse(text, (_, value, { source }) => (source ? JSON.rawJSON(source) : value)), null, "  ");
  } catch {
    return text;
  }
};

// responseBody shows JSON exactly.
const responseBody = (ResponseBody, { React: { createElement }, getComponent }) => (props) => {
  if (!/json/.test(props.contentType)) return createElement(ResponseBody, props);
  const code = { language: "json", downloadable: true, fileName: "response.json", canCopy: true };
  const title = createElement("h5", null, "Response body");
  return createElement("div", null, title, createElement(getComponent("HighlightCode", true), code, exactJSON(props.content)));
};

const plugin = ({ getComponent, React: { createElement } }) => ({
  // Swagger UI looks for this component, warns that there is none, and takes the other one.
  components: { JsonSchema_integer_int64: (props) => createElement(getComponent("JsonSchema_string"), props) },
  statePlugins: {
    spec: { wrapActions: { updateJsonSpec } },
    auth: { wrapActions: { authorizeWithPersistOption } },
  },
  wrapComponents: { DeepLink, HttpAuth, Select: multiSelect, authError, authorizationPopup, execute, liveResponse, response, responseBody },
});

// Swagger UI gives these elements no name, or one that differs from their text.
const names = {
  ".body-param__text": () => "Request body",
  ".close-modal": () => "Close",
  ".copy-to-clipboard button": () => "Copy",
  ".modal-btn[aria-label]": () => null,
  ".servers select": () => "Server",
  "[data-param-name] select": (element) => element.closest("[data-param-name]").dataset.paramName,
};
new MutationObserver(() => {
  for (const [selector, name] of Object.entries(names)) {
    document.querySelectorAll(selector).forEach((element) => (element.ariaLabel = name(element)));
  }
  // What is wrong with a value is only in the title of its field: the style sheet shows it. Limits are included.
  document.querySelectorAll("[data-param-name] [title]").forEach((field) => {
    field.closest("td").dataset.error = field.title.replace("less than", "at most").replace("greater than", "at least");
  });
}).observe(document.body, { attributeFilter: ["title"], childList: true, subtree: true });

// These operations follow the others of their tag: in the order of use, not of the alphabet.
const late = ["cancelOrder", "deletePet", "getPet", "getInventory"];
const rank = (operation) => late.indexOf(operation.getIn(["operation", "operationId"]));

SwaggerUIBundle({
  url: documentURL.href,
  dom_id: "#swagger-ui",
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [plugin],
  deepLinking: true,
  operationsSorter: (a, b) => rank(a) - rank(b),
  persistAuthorization: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
