// This script is loaded between Swagger UI and gin-swagger's initializer, to whose options
// it adds a plugin.

// parentURL is the URL of the folder that has the document and the API, without its last slash.
const parentURL = new URL("..", document.baseURI).href.slice(0, -1);

// updateJsonSpec replaces the server of the document before it is rendered: the URL of this
// page has the prefix that a proxy removes and the service does not know.
const updateJsonSpec = (update) => (spec) => {
  const server = spec.servers?.[0];
  const baseURL = server?.variables?.base_url;
  if (baseURL) {
    if (baseURL.default !== parentURL) server.description = "This server";
    server.url = server.url.replace("{base_url}", parentURL);
    delete server.variables;
  }
  document.title = spec.info?.title ?? document.title;
  return update(spec);
};

// authorizeWithPersistOption closes the dialog and opens the first operation, which is the
// next step.
const authorizeWithPersistOption = (authorize, { authActions }) => (credentials) => {
  authorize(credentials);
  authActions.showDefinitions(false);
  const operation = document.querySelector(".opblock");
  if (operation && !operation.classList.contains("is-open")) operation.querySelector(".opblock-summary-control").click();
  operation?.scrollIntoView();
};

// execute disables Execute until Swagger UI has resolved the references of the operation. A request before that fails and
// leaves the operation loading for ever.
const execute = (Execute, { React: { createElement } }) => (props) =>
  createElement(Execute, { ...props, disabled: props.disabled || props.operation.isEmpty() });

// liveResponse scrolls to the response of a request, which may be below the screen.
const liveResponse = (LiveResponse, { React: { createElement, useLayoutEffect, useRef } }) => (props) => {
  const element = useRef(null);
  const id = props.response.getIn(["headers", "x-request-id"]); // the same response is rendered again with other operations
  useLayoutEffect(() => void element.current.scrollIntoView({ block: "nearest" }), [id]);
  return createElement("div", { ref: element, className: "live-response" }, createElement(LiveResponse, props));
};

// response shows an error that the document describes in one line, which opens.
const response = (Response, { React: { createElement } }) => (props) => {
  if (props.code < 300) return createElement(Response, props);
  const codes = props.response.getIn(["content", "application/json", "examples"])?.keySeq().sort().join(", ");
  const summary = createElement("summary", null, props.code, " ", props.response.get("description"), codes && ": ", codes);
  const table = createElement("table", null, createElement("tbody", null, createElement(Response, props)));
  return createElement("tr", null, createElement("td", { colSpan: 3 }, createElement("details", null, summary, table)));
};

const petstore = {
  statePlugins: { spec: { wrapActions: { updateJsonSpec } }, auth: { wrapActions: { authorizeWithPersistOption } } },
  wrapComponents: { execute, response, liveResponse },
  components: { Topbar: () => null }, // its form loads other documents, which the page's policy forbids
};

const bundle = window.SwaggerUIBundle;
window.SwaggerUIBundle = Object.assign(
  (options) => bundle({ ...options, tryItOutEnabled: true, plugins: [...options.plugins, () => petstore] }),
  bundle,
);
