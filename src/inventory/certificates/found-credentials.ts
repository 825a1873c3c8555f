import { fromBrokenBase64 } from '../../formats/encoding/base64.js';
import type { DraftOccurrence } from '../model/document.js';
import { readX509Certificate } from './certificate-reader.js';
import { CredentialComponents } from './credential-components.js';
import { pemBlocks } from './pem-blocks.js';
import { describeSpki } from './private-key-reader.js';
import { readSshPublicKey, sshKeyLine } from './ssh-public-key.js';

/** Certificates and public keys that a sensor hands over as they are, one by one. */
export class FoundCredentials {
  readonly found = new CredentialComponents();
  /** What the sensor calls an item, and what it is called here. */
  readonly refs = new Map<string, string>();

  /** The ref of the asset, or undefined when the text cannot be read. */
  add(kind: 'certificate' | 'publicKey', text: string, at: readonly DraftOccurrence[]): string | undefined {
    try {
      return kind === 'certificate'
        ? this.found.certificate(readX509Certificate(derOf(text)), at)
        : this.publicKey(text, at);
    } catch {
      return undefined;
    }
  }

  private publicKey(text: string, at: readonly DraftOccurrence[]): string {
    const line = sshKeyLine(text.trim());
    if (line !== undefined) return this.found.publicKey(readSshPublicKey(line.blob, line.comment), at);
    const { algorithm, fingerprint } = describeSpki(derOf(text));
    const name = `public key ${fingerprint.slice(0, 16)}`;
    return this.found.publicKey({ name, fingerprint, algorithm, format: 'X.509' }, at);
  }
}

function derOf(text: string): Buffer {
  return pemBlocks(text)[0]?.bytes ?? fromBrokenBase64(text) ?? Buffer.alloc(0);
}
