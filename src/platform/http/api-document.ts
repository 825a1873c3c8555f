import { type INestApplication, Injectable } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ProblemView } from './problem.dto.js';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
const PROBLEM = {
  description: 'A problem (RFC 9457); docs/errors.md explains each code',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemView' } } },
};

/** The OpenAPI 3.1 document of the running application. */
@Injectable()
export class ApiDocument {
  private document: OpenAPIObject | undefined;

  get current(): OpenAPIObject {
    if (this.document === undefined) throw new Error('the API document was not built');
    return this.document;
  }

  build(app: INestApplication): OpenAPIObject {
    const document = SwaggerModule.createDocument(app, description(), {
      operationIdFactory: (_controller, method) => method,
      extraModels: [ProblemView],
    });
    refine(document);
    this.document = document;
    return document;
  }
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
    .addTag('Certificates', 'Certificate chains of keys, ours and others')
    .addTag('Timestamps', 'RFC 3161')
    .addTag('Inventory', 'Every cryptographic asset, where it is and what is to be done about it')
    .addTag('Audit', 'Who did what')
    .addTag('Authentication', 'Who is calling')
    .addTag('Users', 'Who may sign in')
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
      operation.responses['4XX'] = PROBLEM;
      operation.responses['5XX'] ??= PROBLEM;
      operation.security ??= [];
    }
  }
}
