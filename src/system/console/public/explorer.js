'use strict';
// The sign-in page stores its token in this tab's session storage, so that "Try it out" works immediately.
const token = sessionStorage.getItem('sealwright.token');
const explorer = SwaggerUIBundle({
  url: 'api-docs',
  dom_id: '#explorer',
  deepLinking: true,
  displayRequestDuration: true,
  validatorUrl: null,
  onComplete: () => {
    if (token) explorer.preauthorizeApiKey('bearer', token);
  },
});
