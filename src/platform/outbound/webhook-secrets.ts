import { Injectable } from '@nestjs/common';
import { Seal } from '../sealing/seal.js';

const URL_SEAL = 'webhook url';
const SECRET_SEAL = 'webhook secret';

/** What of an endpoint is sealed in its row: its address and the secret that signs. */
@Injectable()
export class WebhookSecrets {
  constructor(private readonly seal: Seal) {}

  closeUrl(endpoint: string, url: string): Buffer {
    return this.seal.close(URL_SEAL, endpoint, Buffer.from(url));
  }

  openUrl(endpoint: string, sealed: Buffer): string {
    return this.seal.open(URL_SEAL, endpoint, sealed).toString();
  }

  closeSecret(endpoint: string, secret: string): Buffer {
    return this.seal.close(SECRET_SEAL, endpoint, Buffer.from(secret));
  }

  openSecret(endpoint: string, sealed: Buffer): string {
    return this.seal.open(SECRET_SEAL, endpoint, sealed).toString();
  }
}
