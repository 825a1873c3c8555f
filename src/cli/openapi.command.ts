import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { AdministrationModule } from '../app.module.js';
import { permissionMatrix } from '../access/permission-matrix.js';
import { Config } from '../platform/config/config.js';
import { httpAdapter } from '../platform/http/server/configure.js';
import { describeWebhooks } from '../events/event-schemas.js';
import { ApiDocument } from '../platform/http/server/api-document.js';
import { type AdminCommand, print } from './command.js';

/** openapi writes the OpenAPI document of this build, and a list of the permissions that each operation requires. */
export const openapi: AdminCommand = {
  name: 'openapi',
  usage: ['[--out FILE]'],
  summary: 'Writes the OpenAPI document of this version, and permissions.md next to it',
  details: ['For developers. Requires no database. Without --out, it writes docs/openapi.json.'],
  run: writeDocument,
};

async function writeDocument(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { out: { type: 'string', default: 'docs/openapi.json' } } });
  const app = await NestFactory.create<NestFastifyApplication>(AdministrationModule, httpAdapter(new Config()), {
    preview: true,
    logger: false,
  });
  const document = new ApiDocument(describeWebhooks).describe(app).current;
  await writeFile(values.out, `${JSON.stringify(document, null, 2)}\n`);
  const permissions = join(dirname(values.out), 'permissions.md');
  await writeFile(permissions, permissionMatrix(document));
  print(`wrote ${values.out} and ${permissions}`);
}
