import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { describe } from './descriptions.js';
import { ProblemView } from './problem.dto.js';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
const PROBLEM = {
  description: 'A problem (RFC 9457). docs/errors.md describes each code',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemView' } } },
};

const INTRODUCTION = [
  'Sealwright signs digests with keys that never leave the HSM, rotates SSH keys, and inventories cryptographic assets.',
  'Authenticate with an API key or an access token in `Authorization: Bearer …`. `x-required-scopes` lists the scopes that an operation requires; operations with `x-step-up` also require a sign-in within the last five minutes.',
  'Lists are paginated: pass `nextCursor` as `cursor` to get the next page. Where an operation documents an `If-Match` header, send the `ETag` of the resource. An `Idempotency-Key` makes a request safe to retry for 24 hours.',
  'If a signature requires an approval or takes longer, the operation returns 202 with a `Location` to poll. Errors are `application/problem+json` (RFC 9457) with a stable `code`; docs/errors.md describes each code.',
].join('\n\n');

/** ApiDocument generates the OpenAPI 3.1 document of the running application on first request, so that generation does not delay startup. */
export class ApiDocument {
  private app: INestApplication | undefined;
  private document: OpenAPIObject | undefined;

  /** @param extend adds the parts of the document that no controller describes */
  constructor(private readonly extend: (document: OpenAPIObject) => void) {}

  /** Sets the application to describe. All its routes must be registered. */
  describe(app: INestApplication): this {
    this.app = app;
    return this;
  }

  get current(): OpenAPIObject {
    if (this.app === undefined) throw new Error('describe() must be called before the document is read');
    this.document ??= build(this.app, this.extend);
    return this.document;
  }
}

function build(app: INestApplication, extend: (document: OpenAPIObject) => void): OpenAPIObject {
  const document = SwaggerModule.createDocument(app, description(), {
    operationIdFactory: (_controller, method) => method,
    extraModels: [ProblemView],
  });
  extend(document);
  refine(document);
  return document;
}

function description() {
  return new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Sealwright')
    .setDescription(INTRODUCTION)
    .setVersion('1')
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer('/')
    .addBearerAuth({ type: 'http', description: 'An API key (`sw_…`) or an access token' })
    .addTag('Signing', 'Signatures over digests and files')
    .addTag('Signing keys', 'Key pairs in the HSM')
    .addTag('Approvals', 'N-of-M approval of requests')
    .addTag('Certificates', 'Certificate chains of signing keys and other keys')
    .addTag('OpenPGP', 'OpenPGP certificates of signing keys (RFC 9580)')
    .addTag('Timestamps', 'Timestamps (RFC 3161)')
    .addTag('Facades', 'APIs compatible with Vault and SignServer')
    .addTag('SSH keys', 'SSH keys and the accounts to which they give access')
    .addTag('SSH authorities', 'SSH certificates for users and hosts, signed by keys in the HSM')
    .addTag('SSH key rotation', 'Rotation of SSH keys on all hosts without lockouts')
    .addTag('Hosts', 'Hosts, their credentials and their host keys')
    .addTag('Discovery', 'Scans for hosts, keys and certificates')
    .addTag('Inventory', 'Cryptographic assets, their locations, verdicts and deadlines')
    .addTag('Alerts', 'Alerts and their recipients')
    .addTag('Sensors', 'Programs on other machines that report cryptographic assets')
    .addTag('Schedules', 'Recurring scans, reports and checks')
    .addTag('Webhooks', 'Event notifications for other programs')
    .addTag('Audit', 'The audit log and its proofs')
    .addTag('Authentication', 'Sign-in and tokens')
    .addTag('Users', 'Users, sessions and identity providers')
    .addTag('Settings', 'API keys and settings')
    .addTag('System', 'Health, instances and metrics')
    .build();
}

/** refine adds problem responses and missing descriptions, and declares that public operations require no credentials. */
function refine(document: OpenAPIObject): void {
  for (const path of Object.values(document.paths)) {
    for (const method of METHODS) {
      const operation = path[method];
      if (operation === undefined) continue;
      operation.responses['4XX'] ??= PROBLEM;
      operation.responses['5XX'] ??= PROBLEM;
      operation.security ??= [];
      if (operation.parameters !== undefined) operation.parameters = onePerHeader(operation.parameters);
    }
  }
  describe(document);
}

type Parameters = NonNullable<NonNullable<OpenAPIObject['paths'][string]['get']>['parameters']>;

/**
 * Merges the parameters that `@Headers()` and `@ApiHeader()` declare for the same header (case-insensitive, RFC 9110). The parameter with a description is
 * kept.
 */
function onePerHeader(parameters: Parameters): Parameters {
  const isDescribedElsewhere = (name: string) =>
    parameters.some((other) => 'in' in other && other.name !== name && other.name.toLowerCase() === name.toLowerCase());
  return parameters.filter(
    (one) => !('in' in one) || one.in !== 'header' || one.description !== undefined || !isDescribedElsewhere(one.name),
  );
}
