'use strict';
const form = document.getElementById('form');
const fault = document.getElementById('fault');
const button = form.querySelector('button');

async function signIn(email, password) {
  const answer = await fetch('/api/auth/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.detail);
  const session = await fetch('/swagger-ui/session', {
    method: 'POST',
    headers: { authorization: `Bearer ${body.access_token}` },
  });
  if (!session.ok) throw new Error('The session could not be opened.');
  sessionStorage.setItem('sealwright.token', body.access_token);
  location.assign('index.html');
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  fault.textContent = '';
  button.disabled = true;
  signIn(form.email.value, form.password.value)
    .catch((error) => {
      fault.textContent = error.message;
      form.password.select();
    })
    .finally(() => {
      button.disabled = false;
    });
});
