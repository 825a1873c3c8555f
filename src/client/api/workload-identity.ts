import { readFile } from 'node:fs/promises';
import { ClientError, EXIT } from './exit-codes.js';

const EXCHANGE_MS = 30_000;

/** Returns an access token of the service for the identity of this pipeline run, or undefined outside a pipeline. */
export async function workloadToken(url: string, variables: NodeJS.ProcessEnv): Promise<string | undefined> {
  const identity = await identityToken(url, variables);
  if (identity === undefined) return undefined;
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    subject_token: identity,
    trust: variables['SEALWRIGHT_TRUST'] ?? '',
  });
  const answer = await sent(`${url}/oauth/token`, { method: 'POST', body });
  const { access_token: token, error_description: why, detail } = (await answer.json().catch(() => ({}))) as Exchanged;
  if (answer.ok && token !== undefined) return token;
  const reason = why ?? detail ?? `HTTP ${answer.status}`;
  throw new ClientError(EXIT.denied, `The identity token of this run was rejected: ${reason}${adviceFor(reason)}`);
}

interface Exchanged {
  readonly access_token?: string;
  readonly error_description?: string;
  readonly detail?: string;
}

function adviceFor(reason: string): string {
  return /used already/.test(reason) ? ' Each token is accepted only once. Repeat the job, because the next run has a new token.' : ''; // prettier-ignore
}

/** Reads the identity token from the variables that build systems set, or that the job sets itself. */
async function identityToken(url: string, variables: NodeJS.ProcessEnv): Promise<string | undefined> {
  const { SEALWRIGHT_ID_TOKEN: token, SEALWRIGHT_ID_TOKEN_FILE: file, SEALWRIGHT_AUDIENCE: audience } = variables;
  if (token !== undefined && token !== '') return token;
  if (file !== undefined && file !== '') return tokenIn(file);
  const { ACTIONS_ID_TOKEN_REQUEST_URL: at, ACTIONS_ID_TOKEN_REQUEST_TOKEN: bearer } = variables;
  if (at === undefined || bearer === undefined) return undefined;
  const place = `${at}&audience=${encodeURIComponent(audience === undefined || audience === '' ? url : audience)}`;
  const answer = await sent(place, { headers: { authorization: `Bearer ${bearer}` } });
  const { value } = (await answer.json().catch(() => ({}))) as { value?: string };
  if (value !== undefined) return value;
  throw new ClientError(EXIT.authentication, `GitHub did not return an identity token (HTTP ${answer.status}). The job needs "permissions: id-token: write".`); // prettier-ignore
}

async function tokenIn(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new ClientError(
      EXIT.authentication,
      `Cannot read ${file} (SEALWRIGHT_ID_TOKEN_FILE): ${(error as Error).message}`,
    );
  }
}

async function sent(address: string, options: RequestInit): Promise<Response> {
  try {
    return await fetch(address, { ...options, redirect: 'error', signal: AbortSignal.timeout(EXCHANGE_MS) });
  } catch (error) {
    const { message, cause } = error as Error;
    throw new ClientError(
      EXIT.failed,
      `${new URL(address).origin} does not respond: ${cause instanceof Error ? cause.message : message}`,
    );
  }
}
