import { type INestApplication, Injectable } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ProblemView } from './problem.dto.js';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
const PROBLEM = {
  description: 'A problem (RFC 9457); docs/errors.md explains each code',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemView' } } },
};

/** The OpenAPI 3.1 document of the running application. Made at the first request for it, so that a start does not wait for it. */
@Injectable()
export class ApiDocument {
  private app: INestApplication | undefined;
  private document: OpenAPIObject | undefined;

  /** The application that is described: with all its routes. */
  describe(app: INestApplication): this {
    this.app = app;
    return this;
  }

  get current(): OpenAPIObject {
    if (this.app === undefined) throw new Error('no application to describe');
    this.document ??= build(this.app);
    return this.document;
  }
}

function build(app: INestApplication): OpenAPIObject {
  const document = SwaggerModule.createDocument(app, description(), {
    operationIdFactory: (_controller, method) => method,
    extraModels: [ProblemView],
  });
  refine(document);
  return document;
}

function description() {
  return new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Sealwright')
    .setDescription('Signs digests with keys that never leave the HSM. Errors are application/problem+json (RFC 9457).')
    .setVersion('1')
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer('/')
    .addBearerAuth({ type: 'http', description: 'An API key (`sw_…`) or an access token' })
    .addTag('Signing', 'Digests in, signatures out')
    .addTag('Signing keys', 'Key pairs in the HSM')
    .addTag('Approvals', 'N-of-M approval before a key signs')
    .addTag('Certificates', 'Certificate chains of signing keys and of other keys')
    .addTag('OpenPGP', 'Certificates of signing keys as OpenPGP has them (RFC 9580)')
    .addTag('Timestamps', 'RFC 3161')
    .addTag('Facades', 'Interfaces of other signing services')
    .addTag('SSH keys', 'Hosts, their credentials and host keys')
    .addTag('SSH authorities', 'Certificates for users and hosts, from keys in the HSM')
    .addTag('SSH key rotation', 'Rotation of SSH keys on all hosts without lockouts')
    .addTag('Hosts', 'Machines, how they are logged in to, and the keys that they show')
    .addTag('Discovery', 'Finding hosts, keys and certificates on the network')
    .addTag('Inventory', 'Cryptographic assets, their locations, verdicts and deadlines')
    .addTag('Alerts', 'Alerts and their recipients')
    .addTag('Sensors', 'Programs on other machines that find cryptographic assets')
    .addTag('Schedules', 'Scheduled work')
    .addTag('Webhooks', 'Messages to other programs')
    .addTag('Audit', 'Who did what')
    .addTag('Authentication', 'Who is calling')
    .addTag('Users', 'Sign-in, sessions and single sign-on')
    .addTag('Settings', 'API keys and settings')
    .addTag('System', 'Health and metrics')
    .build();
}

/** Every operation may answer a problem; operations without a credential say so. */
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
}

type Parameters = NonNullable<NonNullable<OpenAPIObject['paths'][string]['get']>['parameters']>;

/** Joins what `@Headers()` finds and what `@ApiHeader()` declares for one header (RFC 9110: any case): the described one stays. */
function onePerHeader(parameters: Parameters): Parameters {
  const isDescribedElsewhere = (name: string) =>
    parameters.some((other) => 'in' in other && other.name !== name && other.name.toLowerCase() === name.toLowerCase());
  return parameters.filter(
    (one) => !('in' in one) || one.in !== 'header' || one.description !== undefined || !isDescribedElsewhere(one.name),
  );
}
