import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/caller.js';
import { mayDo, type Scope } from '../../access/scopes.js';
import { KeyVault } from '../../hsm/key-vault.js';
import { Config } from '../../platform/config/config.js';
import { Problem } from '../../platform/errors/problem.js';
import type { VaultHealthView, VaultMountData, VaultSealView, VaultTokenData } from './vault-system.dto.js';

const VERSION = '1.15.0+sealwright';
const NAME = 'sealwright';
const MAX_PATHS = 200;

interface Rule {
  readonly path: RegExp;
  readonly grants: readonly (readonly [scope: Scope, ...capabilities: string[]])[];
}

const RULES: readonly Rule[] = [
  { path: /^sign\//, grants: [['sign:digest', 'create', 'update']] },
  { path: /^verify\//, grants: [['sign:read', 'create', 'update']] },
  { path: /^export\/public-key\//, grants: [['signing-keys:read', 'read']] },
  { path: /^keys$/, grants: [['signing-keys:read', 'list']] },
  {
    path: /^keys\/[^/]+$/,
    grants: [
      ['signing-keys:read', 'read'],
      ['signing-keys:write', 'create', 'update'],
    ],
  },
];

/** VaultSystemService handles requests of Vault clients outside the transit engine: health, identity and permissions. */
@Injectable()
export class VaultSystemService {
  constructor(
    private readonly vault: KeyVault,
    private readonly config: Config,
  ) {}

  health(): VaultHealthView {
    return {
      initialized: true,
      sealed: this.isSealed(),
      standby: false,
      performance_standby: false,
      replication_performance_mode: 'disabled',
      replication_dr_mode: 'disabled',
      server_time_utc: Math.floor(Date.now() / 1000),
      version: VERSION,
      cluster_name: NAME,
    };
  }

  seal(): VaultSealView {
    const shares = { t: 1, n: 1, progress: 0, nonce: '' };
    const build = { version: VERSION, build_date: '', migration: false, recovery_seal: true };
    const place = { storage_type: 'postgresql', cluster_name: NAME };
    return { type: 'pkcs11', initialized: true, sealed: this.isSealed(), ...shares, ...build, ...place };
  }

  /** @param shown the token of the request, because `vault login` stores the token in the response; empty in a browser session */
  token({ id, name, ownerId, scopes }: Caller, shown: string): VaultTokenData {
    return {
      id: shown,
      accessor: id,
      display_name: name,
      entity_id: ownerId,
      policies: [...scopes].sort(),
      path: 'auth/token/create',
      ttl: 0,
      creation_ttl: 0,
      explicit_max_ttl: 0,
      num_uses: 0,
      orphan: true,
      renewable: false,
      type: 'service',
      meta: null,
      expire_time: null,
    };
  }

  /**
   * Returns the capabilities by path and, as Vault does, the capabilities of the first path under `capabilities`. Throws Problem `request.invalid` if there
   * are no paths or too many.
   */
  capabilities({ scopes }: Caller, paths: readonly string[]): Record<string, string[]> {
    if (paths.length === 0 || paths.length > MAX_PATHS) throw refusal(`paths must have 1 to ${MAX_PATHS} items`);
    const found = paths.map((path) => [path, this.capabilitiesAt(scopes, path)] as const);
    return { ...Object.fromEntries(found), capabilities: found[0]?.[1] ?? ['deny'] };
  }

  /** Returns a mount by its name. Throws Problem `route.missing` if the mount does not exist. */
  mount(name: string): VaultMountData {
    if (name === 'transit' || this.config.transitMounts.includes(name)) return mounted(name);
    throw new Problem('missing', 'route.missing', 'Path not found.');
  }

  mounts(): Record<string, VaultMountData> {
    const names = [...new Set(['transit', ...this.config.transitMounts])];
    return Object.fromEntries(names.map((name) => [`${name}/`, mounted(name)]));
  }

  private isSealed(): boolean {
    return !this.vault.health().up;
  }

  private capabilitiesAt(scopes: Caller['scopes'], path: string): string[] {
    const plain = path.replace(/^\//, '').replace(/\/$/, '');
    const mount = ['transit', ...this.config.transitMounts].find((name) => plain.startsWith(`${name}/`));
    const rule = mount === undefined ? undefined : RULES.find((one) => one.path.test(plain.slice(mount.length + 1)));
    const held = (rule?.grants ?? []).flatMap(([scope, ...what]) => (mayDo(scopes, scope) ? what : []));
    return held.length === 0 ? ['deny'] : held;
  }
}

function mounted(name: string): VaultMountData {
  return { type: 'transit', path: `${name}/`, description: 'Signing keys', options: null };
}

function refusal(detail: string): Problem {
  return new Problem('malformed', 'request.invalid', detail, { errors: [{ pointer: '/paths', detail }] });
}
