'use strict';
// The token that the sign-in page left in this tab makes "Try it out" work at once.
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
