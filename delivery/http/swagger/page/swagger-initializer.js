// parentURL is the URL of the folder that has the document and the API, without its last slash.
const parentURL = new URL("..", document.baseURI).href.slice(0, -1);

// callParent is a plugin that replaces the server of the document before it is rendered: the
// URL of this page has the prefix that a proxy removes, of which the service knows nothing.
function callParent() {
  const updateJsonSpec = (update) => (spec) => {
    document.title = spec.info?.title ?? document.title;
    const baseURL = spec.servers?.[0]?.variables?.base_url;
    if (baseURL) baseURL.default = parentURL;
    return update(spec);
  };
  return { statePlugins: { spec: { wrapActions: { updateJsonSpec } } } };
}

SwaggerUIBundle({
  url: "../openapi.json",
  dom_id: "#swagger-ui",
  validatorUrl: null,
  deepLinking: true,
  persistAuthorization: true,
  plugins: [callParent],
});
