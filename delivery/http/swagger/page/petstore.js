// This script is loaded between Swagger UI and gin-swagger's initializer, to whose options
// it adds a plugin.

// documentFolder is the URL of the folder that has the document.
const documentFolder = new URL("..", document.baseURI);

// updateJsonSpec replaces the servers of the document before it is rendered: the URL of this page has the prefix that a
// proxy removes and the service does not know, and the page's policy forbids requests to other servers.
const updateJsonSpec = (update) => (spec) => {
  const server = spec.servers?.[0];
  const baseURL = server?.variables?.base_url;
  if (baseURL) {
    const url = new URL(baseURL["x-relative-url"] ?? ".", documentFolder).href.replace(/\/$/, "");
    if (baseURL.default !== url) server.description = "This server";
    server.url = server.url.replace("{base_url}", url);
    delete server.variables;
    spec.servers = [server];
  }
  document.title = spec.info?.title ?? document.title;
  return update(spec);
};

// authorizeWithPersistOption corrects a bearer token, which may have been copied with "Bearer" or characters that are not
// visible. Then it closes the dialog and shows the open operation, or opens the first one, which is the next step.
const authorizeWithPersistOption = (authorize, { authActions }) => (credentials) => {
  const [name, entered] = Object.entries(credentials)[0];
  const isBearer = entered.schema.get("scheme") === "bearer";
  const value = isBearer ? entered.value?.replace(/[^!-~]/g, "").replace(/^Bearer/i, "") : entered.value;
  if (!value) return;
  authorize({ [name]: { ...entered, value } });
  authActions.showDefinitions(false);
  const open = document.querySelector(".opblock.is-open");
  const operation = open ?? document.querySelector(".opblock");
  if (!open) operation?.querySelector(".opblock-summary-control").click();
  operation?.scrollIntoView();
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

// liveResponse scrolls to the response of a request, which may be below the screen.
const liveResponse = (LiveResponse, { React: { createElement, useLayoutEffect, useRef } }) => (props) => {
  const element = useRef(null);
  useLayoutEffect(() => void element.current.scrollIntoView({ block: "nearest" }), []);
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
