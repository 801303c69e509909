// This script is loaded between Swagger UI and gin-swagger's initializer, to whose options
// it adds a plugin.

// parentURL is the URL of the folder that has the document and the API, without its last slash.
const parentURL = new URL("..", document.baseURI).href.slice(0, -1);

// callParent replaces the server of the document before it is rendered: the URL of this
// page has the prefix that a proxy removes and the service does not know.
function callParent() {
  const updateJsonSpec = (update) => (spec) => {
    const baseURL = spec.servers?.[0]?.variables?.base_url;
    if (baseURL) baseURL.default = parentURL;
    document.title = spec.info?.title ?? document.title;
    return update(spec);
  };
  return {
    statePlugins: { spec: { wrapActions: { updateJsonSpec } } },
    components: { Topbar: () => null }, // its form loads other documents, which the page's policy forbids
  };
}

const bundle = window.SwaggerUIBundle;
window.SwaggerUIBundle = Object.assign(
  (options) => bundle({ ...options, plugins: [...options.plugins, callParent] }),
  bundle,
);
