'use strict';
const byId = (id) => document.getElementById(id);
const find = byId('find');
const outcome = byId('outcome');
let token = '';
let code = new URLSearchParams(location.search).get('user_code') ?? '';
find.code.value = code;

async function call(method, path, body) {
  const headers = token === '' ? {} : { authorization: `Bearer ${token}` };
  const content = { headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await fetch(path, { method, headers, ...(body === undefined ? {} : content) });
  const text = await answer.text();
  const value = text === '' ? {} : JSON.parse(text);
  if (!answer.ok) throw new Error(value.detail);
  return value;
}

const place = () => `/api/auth/device/${encodeURIComponent(code)}`;

async function show(email, password) {
  token = (await call('POST', '/api/auth/login', { email, password })).access_token;
  const { client, scopes } = await call('GET', place());
  byId('client').textContent = client;
  byId('scopes').replaceChildren(
    ...scopes.map((scope) => Object.assign(document.createElement('li'), { textContent: scope })),
  );
  find.hidden = true;
  byId('decide').hidden = false;
}

/** Sends the decision, and ends the page's session, which is no longer needed. */
async function decide(answer, words) {
  await call('POST', `${place()}/${answer}`);
  await call('POST', '/api/auth/logout');
  token = '';
  byId('decide').hidden = true;
  outcome.textContent = words;
}

function guarded(work) {
  outcome.textContent = '';
  work().catch((error) => {
    outcome.textContent = error.message;
  });
}

find.addEventListener('submit', (event) => {
  event.preventDefault();
  code = find.code.value;
  guarded(() => show(find.email.value, find.password.value));
});
byId('yes').addEventListener('click', () => guarded(() => decide('approve', 'Done. Go back to your device.')));
byId('no').addEventListener('click', () => guarded(() => decide('deny', 'The request was denied.')));
