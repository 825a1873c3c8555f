import { Injectable } from '@nestjs/common';
import { Config } from '../../../platform/config/config.js';
import { OutboundClient } from '../../../platform/outbound/outbound-client.js';
import { readJson } from '../../../platform/json/strict-json.js';

const TIMEOUT_MS = 5000;

/** Fetches a document. Rejects if the request fails. */
export type DocumentReader = (url: string) => Promise<{ readonly status: number; readonly body: string }>;

/** KeyDocuments fetches published keys through the outbound client. In the prod profile, URLs must use HTTPS. */
@Injectable()
export class KeyDocuments {
  constructor(
    private readonly config: Config,
    private readonly outbound: OutboundClient,
  ) {}

  /** Fetches a document. Rejects with the reason if the request fails. */
  async read(url: string): Promise<{ readonly status: number; readonly body: string }> {
    if (this.config.isProd && !url.startsWith('https:')) throw new Error(`${url} does not use HTTPS`);
    const headers = { accept: 'application/json' };
    return this.outbound.send({ method: 'GET', url, headers, timeoutMs: TIMEOUT_MS });
  }
}

/** Returns the JSON document at a URL. Rejects with the reason if the response is not JSON. */
export async function jsonAt(url: string, read: DocumentReader): Promise<unknown> {
  const { status, body } = await read(url);
  if (status !== 200) throw new Error(`${url} responded with ${status}`);
  try {
    return readJson(body, { roundsNumbers: true });
  } catch (error) {
    throw new Error(`${url} is not JSON of at most 64 kB: ${(error as Error).message}`, { cause: error });
  }
}
