// Signs files with the identity token of this run of GitHub Actions. Plain Node.js without packages; it holds no secret and needs none.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { appendFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const EXTENSIONS = { raw: '.sig', cms: '.p7s', jws: '.jws', 'sigstore-bundle': '.sigstore.json' };
const BUSY = new Set([408, 429, 502, 503, 504]);
const ATTEMPTS = 5;
const WAIT_SECONDS = 20;

const input = (name) => (process.env[`INPUT_${name.toUpperCase()}`] ?? '').trim();
const url = input('url').replace(/\/$/, '');
const deadline = Date.now() + Number(input('wait') || 1800) * 1000;
let access = '';

/** Calls again what may be repeated while the service or what stands before it is busy. */
async function send(address, options) {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await fetch(address, { ...options, signal: AbortSignal.timeout(60_000) }).catch((error) => error);
    const isPassing = answer instanceof Error || BUSY.has(answer.status);
    if (!isPassing) return answer;
    if (attempt === ATTEMPTS) throw answer instanceof Error ? answer : new Error(`${address} answers ${answer.status}`);
    await sleep(2 ** attempt * 250);
  }
}

async function bodyOf(answer) {
  const body = await answer.json().catch(() => ({}));
  if (answer.ok) return body;
  throw new Error(body.error_description ?? body.detail ?? `the service answers ${answer.status}`);
}

/** An identity token of this run, which GitHub signs, becomes an access token for 15 minutes. Each is used once. */
async function signIn() {
  const { ACTIONS_ID_TOKEN_REQUEST_URL: at, ACTIONS_ID_TOKEN_REQUEST_TOKEN: bearer } = process.env;
  if (!at) throw new Error('there is no identity token: give the job "permissions: id-token: write"');
  const audience = encodeURIComponent(input('audience') || url);
  const { value } = await bodyOf(
    await send(`${at}&audience=${audience}`, { headers: { authorization: `Bearer ${bearer}` } }),
  );
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    subject_token: value,
    trust: input('trust'),
  });
  ({ access_token: access } = await bodyOf(await fetch(`${url}/oauth/token`, { method: 'POST', body: form })));
  console.log(`::add-mask::${access}`);
}

/** While people decide, the access token may end; the run asks for another. */
async function call(path, options = {}) {
  const once = () =>
    send(`${url}${path}`, { ...options, headers: { ...options.headers, authorization: `Bearer ${access}` } });
  let answer = await once();
  if (answer.status === 401) {
    await signIn();
    answer = await once();
  }
  return bodyOf(answer);
}

/** A repetition of the job finds the same request, so that it can end after the approval. */
function post(path, body) {
  const text = JSON.stringify(body);
  const name = createHash('sha256').update(`${process.env.GITHUB_RUN_ID} ${path} ${text}`).digest('hex');
  const headers = { 'content-type': 'application/json', 'idempotency-key': `github-${name}` };
  return call(path, { method: 'POST', body: text, headers });
}

async function finished(request) {
  let current = request;
  while (current.status !== 'SIGNED') {
    if (current.status === 'FAILED') throw new Error(`${current.failure.detail} [${current.failure.code}]`);
    if (Date.now() > deadline)
      throw new Error(`the request ${current.requestId} waits for approval; run the job again later`);
    current = await call(`/api/v1/sign/requests/${current.requestId}?wait=${WAIT_SECONDS}`);
  }
  return current;
}

async function digestOf(file) {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(file)) hash.update(piece);
  return hash.digest('base64');
}

async function output(name, lines) {
  const mark = `END-${createHash('sha256').update(lines.join('\n')).digest('hex')}`;
  if (process.env.GITHUB_OUTPUT)
    await appendFile(process.env.GITHUB_OUTPUT, `${name}<<${mark}\n${lines.join('\n')}\n${mark}\n`);
}

async function main() {
  const files = input('files')
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
  if (url === '' || input('key') === '' || files.length === 0) throw new Error('url, key and files are needed');
  const format = input('format') || 'raw';
  await signIn();
  const digests = await Promise.all(files.map(digestOf));
  const signatures = [];
  const requests = [];
  for (const [i, file] of files.entries()) {
    const metadata = { filename: basename(file) };
    const asked = await post('/api/v1/sign/digest', { digest: digests[i], key: input('key'), format, metadata });
    console.log(`${file}: request ${asked.requestId} ${asked.status}`);
    const { requestId, signature } = await finished(asked);
    await writeFile(`${file}${EXTENSIONS[format] ?? '.sig'}`, Buffer.from(signature, 'base64'));
    signatures.push(`${file}${EXTENSIONS[format] ?? '.sig'}`);
    requests.push(requestId);
  }
  await output('signatures', signatures);
  await output('requests', requests);
  if (input('provenance') !== '') await attest(files, digests);
}

async function attest(files, digests) {
  const subjects = files.map((file, i) => ({ name: basename(file), digest: digests[i] }));
  const { request } = await post('/api/v1/sign/attestation', { subjects, key: input('provenance') });
  const { signature } = await finished(request);
  const name = 'provenance.sigstore.json';
  await writeFile(name, Buffer.from(signature, 'base64'));
  await output('provenance', [name]);
}

main().catch((error) => {
  console.log(`::error::${String(error.message).replaceAll('%', '%25').replaceAll('\n', '%0A')}`);
  process.exitCode = 1;
});
