'use strict';
const form = document.getElementById('form');
const outcome = document.getElementById('outcome');
const [purpose, token] = location.hash.slice(1).split('=');
const isInvitation = purpose === 'invitation';
document.getElementById('address').hidden = !isInvitation;
form.email.required = isInvitation;

async function send() {
  const password = form.password.value;
  const body = isInvitation ? { email: form.email.value, password, invitation: token } : { token, password };
  const answer = await fetch(isInvitation ? '/api/auth/register' : '/api/auth/password/reset', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error((await answer.json()).detail);
  form.hidden = true;
  outcome.textContent = 'Done. You can sign in with your new password.';
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  send().catch((error) => {
    outcome.textContent = error.message;
  });
});
