import { applyDecorators, Controller, Headers, HttpCode, HttpStatus, Post, Query, Res } from '@nestjs/common';
import { ApiAcceptedResponse, ApiBody, ApiConsumes, ApiHeader, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { isUtf8 } from 'node:buffer';
import { Needs, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import { MAX_REQUEST_BODY_BYTES } from '../../../platform/http/bodies/body-limits.js';
import { type RawBody, TakesRaw, TheRawBody } from '../../../platform/http/bodies/raw-body.js';
import { IngestQuery, IngestView } from './ingest.dto.js';
import { ImportView } from './imports.dto.js';
import { ImportsService } from './imports.service.js';
import { type IngestOptions, IngestService } from './ingest.service.js';

const SCOPE = 'inventory:report';
const MEDIA_TYPES = [
  'application/json',
  'application/vnd.cyclonedx+json',
  'application/sarif+json',
  'application/x-ndjson',
  'application/pem-certificate-chain',
  'application/x-pem-file',
  'application/pkix-cert',
  'application/x-x509-ca-cert',
  'application/pkcs7-mime',
  'application/x-pkcs7-certificates',
  'application/pkcs12',
  'application/x-pkcs12',
  'application/x-java-keystore',
  'application/pkcs8',
  'application/pgp-keys',
  'application/octet-stream',
];
const KEY_HEADER = {
  name: 'Idempotency-Key',
  required: false,
  description: 'Makes retries of the call safe for 24 hours',
};
const PASSWORD_HEADER = {
  name: 'X-Key-Store-Password',
  required: false,
  description: 'Password of the key store, percent-encoded (UTF-8). The password is not stored.',
};
const SCAN = {
  schema: { type: 'object' as const, additionalProperties: true },
  examples: {
    scan: {
      value: {
        scanId: 'scan-1',
        assets: [
          {
            component: {
              type: 'cryptographic-asset',
              name: 'RSA-2048',
              cryptoProperties: {
                assetType: 'algorithm',
                algorithmProperties: { primitive: 'signature', parameterSetIdentifier: '2048' },
              },
            },
            occurrence: { location: 'db1.example.com:5432' },
          },
        ],
      },
    },
  },
};

/** Decorators for both endpoints. Each endpoint accepts all formats, because the format is detected from the content. */
const TakesDocuments = () =>
  applyDecorators(
    Needs(SCOPE),
    TakesRaw(MAX_REQUEST_BODY_BYTES, MEDIA_TYPES, SCOPE),
    ApiConsumes(...MEDIA_TYPES),
    ApiBody(SCAN),
    ApiHeader(KEY_HEADER),
    ApiHeader(PASSWORD_HEADER),
  );

@ApiTags('Inventory')
@Controller('api')
export class IngestController {
  constructor(
    private readonly ingests: IngestService,
    private readonly imports: ImportsService,
  ) {}

  /**
   * Ingest assets
   * @remarks Imports a sensor scan, a CycloneDX document, or certificates, key stores and SSH keys in their native formats.
   */
  @Post('ingest')
  @TakesDocuments()
  @HttpCode(HttpStatus.OK)
  @ApiOkResponse({ type: IngestView, description: 'Imported' })
  @ApiAcceptedResponse({
    type: ImportView,
    description: 'With `async`: the import was accepted. Poll the URL in `Location`.',
  })
  async ingest(
    @TheCaller() caller: Caller,
    @TheRawBody() body: RawBody,
    @Query() query: IngestQuery,
    @Headers() headers: Record<string, string | undefined>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<IngestView | ImportView> {
    return this.take(caller, body, optionsOf(query, headers), query.async === true ? reply : undefined);
  }

  /**
   * Import a source scan
   * @remarks Imports the result of a source scan: CycloneDX 1.4 to 1.7, SARIF 2.1.0, or any other format that `ingest` accepts.
   */
  @Post('v1/import/source-scan')
  @TakesDocuments()
  @HttpCode(HttpStatus.OK)
  @ApiOkResponse({ type: IngestView, description: 'Imported' })
  @ApiAcceptedResponse({
    type: ImportView,
    description: 'With `async`: the import was accepted. Poll the URL in `Location`.',
  })
  async importSourceScan(
    @TheCaller() caller: Caller,
    @TheRawBody() body: RawBody,
    @Query() query: IngestQuery,
    @Headers() headers: Record<string, string | undefined>,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<IngestView | ImportView> {
    return this.take(caller, body, optionsOf(query, headers), query.async === true ? reply : undefined);
  }

  /** @param later reply for an asynchronous call, which returns an import; undefined for a synchronous call */
  private async take(
    caller: Caller,
    body: RawBody,
    options: IngestOptions,
    later: FastifyReply | undefined,
  ): Promise<IngestView | ImportView> {
    if (later === undefined) return IngestView.of(await this.ingests.ingest(caller, body, options));
    const accepted = await this.imports.accept(caller, body, options);
    void later.status(HttpStatus.ACCEPTED).header('location', `/api/imports/${accepted.id}`);
    return ImportView.of(accepted);
  }
}

function optionsOf({ mode, source }: IngestQuery, headers: Record<string, string | undefined>): IngestOptions {
  const password = decoded(headers['x-key-store-password']);
  return { mode, source, idempotencyKey: headers['idempotency-key'], password };
}

/** Decodes a header value that may be percent-encoded. curl sends header values in UTF-8, which are received as one character per byte. */
function decoded(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const octets = Buffer.from(text, 'latin1');
  const typed = isUtf8(octets) ? octets.toString('utf8') : text;
  try {
    return decodeURIComponent(typed);
  } catch {
    return typed;
  }
}
