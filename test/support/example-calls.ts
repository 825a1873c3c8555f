import { accessToken } from './access.js';
import type { Operation } from './api-document.js';
import { exampleBodyOf } from './example-values.js';
import { type HostileCall, jsonText } from './hostile-values.js';
import type { Answer, Service } from './service.js';
import { digestOf, sign } from './signing.js';
import type { Stage } from './stage.js';

const ATTEMPTS = 5;
const NOBODY = '01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11';
/** Order in which collections are created, so that references can be resolved. */
const FIRST = [
  'createSigningKey',
  'createApproverGroup',
  'createApprovalPolicy',
  'createWebhook',
  'createScanScope',
  'createSshAuthority',
  'createWorkloadIssuer',
];

interface Known {
  readonly service: Service;
  readonly apiKey: string;
  /** Access token of an administrator. */
  readonly person: string;
  readonly adminId: string;
  /** IDs of created resources, by the path of their collection. */
  readonly made: Map<string, string>;
}

/** Members that override the examples' members, for example with IDs of existing resources, or with `undefined` where members are mutually exclusive. */
const MORE: Record<string, (known: Known) => Record<string, unknown>> = {
  createApproverGroup: ({ adminId }) => ({ members: [adminId], ssoGroups: [] }),
  changeApproverGroup: ({ adminId }) => ({ members: [adminId], ssoGroups: [] }),
  createApprovalPolicy: ({ made }) => ({ keys: [GUARDED], conditions: [], unless: [], stages: stagesOf(made) }),
  changeApprovalPolicy: ({ made }) => ({ keys: [GUARDED], conditions: [], unless: [], stages: stagesOf(made) }),
  testApprovalPolicies: () => ({ policy: undefined, requestIds: [], certificateIds: [] }),
  createWorkloadTrust: ({ made }) => ({ issuerId: made.get('/api/settings/workload-issuers') ?? NOBODY }),
  changeWorkloadTrust: ({ made }) => ({ issuerId: made.get('/api/settings/workload-issuers') ?? NOBODY }),
  createSshLoginRule: ({ made }) => ({ authorityId: made.get('/v1/ssh-ca') ?? NOBODY }),
  changeSshLoginRule: ({ made }) => ({ authorityId: made.get('/v1/ssh-ca') ?? NOBODY }),
  issueSshCertificate: () => ({ renewal: undefined }),
  signDigest: () => ({ content: undefined, scheme: 'ecdsa-der' }),
  verifySignature: () => ({ requestId: undefined, scheme: 'ecdsa-der', timestamp: undefined }),
  createSchedule: () => ({ intervalSeconds: undefined, target: 'snapshot', settings: {} }),
  createAlertRule: () => ({ webhooks: [] }),
  changeAlertRule: () => ({ webhooks: [] }),
  createHost: () => ({ credential: undefined, jumpHostId: undefined }),
  updateHost: () => ({ credential: undefined, jumpHostId: undefined }),
  addHostAuthority: () => ({ publicKey: PUBLIC_KEY }),
  createOAuthClient: () => ({ jwks_uri: undefined, token_endpoint_auth_method: undefined, ...NO_CERTIFICATES }),
  replaceOAuthClientKeys: () => ({ jwks_uri: undefined }),
  createScan: ({ made }) => ({ scopeId: made.get('/v1/scan-scopes'), ...WHOLE_SCOPE }),
  createSigningKey: () => ({ notBefore: undefined, constraints: {} }),
  ingest: () => SCAN,
  importSourceScan: () => SCAN,
};
const NO_CERTIFICATES = {
  certificates: undefined,
  trustAnchors: undefined,
  intermediates: undefined,
  tls_client_auth_subject_dn: undefined,
  tls_client_auth_san_dns: undefined,
  tls_client_auth_san_uri: undefined,
  tls_client_auth_san_ip: undefined,
  tls_client_auth_san_email: undefined,
};
/** Returns one stage that requires one vote from the only group. */
const stagesOf = (made: Known['made']) => [{ group: made.get('/api/v1/approver-groups') ?? NOBODY, threshold: 1 }];
const WHOLE_SCOPE = { targets: undefined, ports: undefined, hosts: undefined, label: undefined };
/** Name of the key in the examples. */
const GUARDED = 'release-2027';
const PUBLIC_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB8Ht8Z3j6yDWPBHQtOp/R9rjWvfMYo3MSA/K6q8D86r';
const SCAN = {
  assets: [
    {
      component: {
        type: 'cryptographic-asset',
        name: 'RSA-2048',
        cryptoProperties: {
          assetType: 'algorithm',
          algorithmProperties: { primitive: 'pke', parameterSetIdentifier: '2048', cryptoFunctions: ['sign'] },
        },
      },
      occurrence: { location: 'src/main.c', line: 12, symbol: 'RSA_new' },
    },
  ],
};

/** Sends the calls of the API document with its examples. */
export class ExampleCalls {
  constructor(private readonly known: Known) {}

  get made(): ReadonlyMap<string, string> {
    return this.known.made;
  }

  /** Creates one resource of every collection. */
  async makeAll(operations: readonly Operation[]): Promise<void> {
    const { service, apiKey: key, made } = this.known;
    const creating = operations.filter(({ method, path }) => method === 'POST' && !path.includes('{'));
    for (const operation of creating.toSorted((a, b) => rank(a) - rank(b))) await this.make(operation);
    const { body: held } = await sign(service, { key, body: { digest: digestOf('x'), key: GUARDED } });
    made.set('/api/v1/sign/requests', held.requestId).set('/api/v1/approvals', held.approvalId);
  }

  private async make(operation: Operation): Promise<void> {
    const { status, body } = await this.callPatiently(operation, this.bodyOf(operation));
    if (status < 300) this.known.made.set(operation.path, body.id ?? body.requestId);
  }

  /** Retries on 503, because generating a key on a busy machine may take longer than the call waits. */
  async callPatiently(operation: Operation, good: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const wanted = { path: this.pathOf(operation), headers, body: good === undefined ? undefined : jsonText(good) };
    let answer = await this.call(operation, wanted);
    for (let attempt = 1; answer.status === 503 && attempt < ATTEMPTS; attempt += 1)
      answer = await this.call(operation, wanted);
    return answer;
  }

  bodyOf(operation: Operation): unknown {
    const example = exampleBodyOf(operation);
    const more = MORE[operation.operationId]?.(this.known);
    return more === undefined ? example : { ...(example as object), ...more };
  }

  pathOf(operation: Operation): string {
    return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(this.idFor(operation, name)),
    );
  }

  /** Returns the ID of an existing resource for a path parameter. For DELETE, returns an unknown ID, so that the resource remains for other operations. */
  idFor({ method, path, raw }: Operation, name: string): string {
    if (method === 'DELETE') return NOBODY;
    const parameter = raw.parameters.find((candidate: { name: string }) => candidate.name === name);
    return this.made.get(path.split(`/{${name}}`)[0] ?? '') ?? parameter?.schema?.example ?? NOBODY;
  }

  call(operation: Operation, { path, body, headers = {} }: Partial<HostileCall> & { path: string }): Promise<Answer> {
    const { service, apiKey, person } = this.known;
    // A call with a cookie or `x-api-key` sends no bearer token, which would take precedence.
    const hasOwn = 'cookie' in headers || 'x-api-key' in headers;
    const key = hasOwn ? undefined : operation.raw['x-person'] === true ? person : apiKey;
    return service.call(operation.method, path, { key, headers, ...(body === undefined ? {} : { body }) });
  }
}

export async function openExamples(stage: Stage, service: Service): Promise<ExampleCalls> {
  const { adminEmail, adminPassword, apiKey } = await stage.seed();
  const person = await accessToken(service, adminEmail, adminPassword);
  const { body: me } = await service.call('GET', '/api/auth/me', { key: person });
  return new ExampleCalls({ service, apiKey, person, adminId: me.id, made: new Map() });
}

const rank = ({ operationId }: Operation) => (FIRST.includes(operationId) ? FIRST.indexOf(operationId) : FIRST.length);
