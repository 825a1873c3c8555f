import { Allow } from 'class-validator';
import { Transform } from 'class-transformer';
import { present, viewOf } from '../../platform/http/fields/view-of.js';
import { Text } from '../../platform/http/fields/fields.js';
import { readSshCertificate } from '../../formats/ssh/certificate-reader.js';
import { OneKeyLine } from '../../platform/http/field-rules.js';
import { assertId } from '../../platform/http/id-param.js';
import type { HostKey, HostKeyState, Possession } from '../model/host-key.entity.js';

export class PinHostKeyBody {
  /** Public key as in known_hosts or a .pub file, or a host certificate as in a -cert.pub file. @example "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGkx" */
  @Text(16, 16_384) @OneKeyLine() publicKey: string;
}

export class HostKeyParam {
  /** ID of the host. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  @Allow() @Transform(({ value }: { value: unknown }) => assertId(value)) id: string;
  /** ID of the key. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d12 */
  @Allow() @Transform(({ value }: { value: unknown }) => assertId(value)) keyId: string;
}

export class HostCertificateView {
  /** Fingerprint of the authority's key. @example SHA256:Dv7HsVJq6fG0pZxV0r0Jt3rKBl8Zz3uY8hHcQWv1mYk */
  authority: string;
  /** Host names in the certificate. @example ["web-1.example.com"] */
  principals: string[];
  /** @example host-1 */
  keyId: string;
  validAfter: Date;
  validBefore: Date;
}

export class HostKeyView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d12 */
  id: string;
  /** @example ssh-ed25519 */
  type: string;
  /** @example 256 */
  bits?: number;
  /** @example SHA256:Dv7HsVJq6fG0pZxV0r0Jt3rKBl8Zz3uY8hHcQWv1mYk */
  fingerprint: string;
  /** Public key as in known_hosts. @example "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGkx" */
  publicKey: string;
  state: HostKeyState;
  /** Host certificate stored for the key. */
  certificate?: HostCertificateView;
  /** `proven` if the host has signed with the key. */
  possession: Possession;
  /** @example "Ann Example" */
  decidedBy?: string;
  decidedAt?: Date;
  firstSeen: Date;
  lastSeen?: Date;

  static of(row: HostKey): HostKeyView {
    const { type, blob } = row;
    return viewOf(HostKeyView, present(row), {
      certificate: certificateView(row.certificate),
      publicKey: `${type} ${blob.toString('base64')}`,
    });
  }
}

function certificateView(blob: Buffer | null): HostCertificateView | undefined {
  const certificate = blob === null ? undefined : readSshCertificate(blob);
  if (certificate === undefined) return undefined;
  const { authority, principals, keyId, validAfter, validBefore } = certificate;
  return { authority, principals: [...principals], keyId, validAfter, validBefore };
}

export class HostKeyList {
  items: HostKeyView[];
}
