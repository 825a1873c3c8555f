import { viewOf } from '../../platform/http/fields/view-of.js';
import { Name, Text } from '../../platform/http/fields/fields.js';
import { OneKeyLine } from '../../platform/http/field-rules.js';
import type { HostAuthority } from '../model/host-key.entity.js';

export class AddHostAuthorityBody {
  /** @example "Data centre hosts" */
  @Name(1, 100) name: string;
  /** Public key as in a .pub file. @example "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGkx" */
  @Text(16, 16_384) @OneKeyLine() publicKey: string;
}

export class HostAuthorityView {
  /** @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d12 */
  id: string;
  /** @example "Data centre hosts" */
  name: string;
  /** @example ssh-ed25519 */
  type: string;
  /** @example SHA256:Dv7HsVJq6fG0pZxV0r0Jt3rKBl8Zz3uY8hHcQWv1mYk */
  fingerprint: string;
  /** @example "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGkx" */
  publicKey: string;
  /** @example "Ann Example" */
  createdBy: string;
  createdAt: Date;

  static of(row: HostAuthority): HostAuthorityView {
    const { type, blob } = row;
    return viewOf(HostAuthorityView, row, { publicKey: `${type} ${blob.toString('base64')}` });
  }
}

export class HostAuthorityList {
  items: HostAuthorityView[];
}
