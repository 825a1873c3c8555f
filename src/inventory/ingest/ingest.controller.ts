import { Controller, Headers, HttpCode, HttpStatus, Post, Query } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiHeader, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../auth/access.js';
import type { Caller } from '../../auth/caller.js';
import { type RawBody, TakesRaw, TheRawBody } from '../../platform/http/raw-body.js';
import { IngestQuery, IngestView } from './ingest.dto.js';
import { IngestService } from './ingest.service.js';

/** A CBOM of 300,000 components has about 137 MB. */
const DOCUMENT_LIMIT = 256 * 1024 * 1024;
const MEDIA_TYPES = [
  'application/json',
  'application/vnd.cyclonedx+json',
  'application/sarif+json',
  'application/x-ndjson',
];
const KEY_HEADER = {
  name: 'Idempotency-Key',
  required: false,
  description: 'Makes the call safe to repeat for 24 hours',
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

@ApiTags('Inventory')
@Controller('api')
export class IngestController {
  constructor(private readonly ingests: IngestService) {}

  /** Takes in what a sensor found, or a whole CycloneDX document. */
  @Post('ingest')
  @HttpCode(HttpStatus.OK)
  @Needs('inventory:write')
  @TakesRaw(DOCUMENT_LIMIT, MEDIA_TYPES)
  @ApiConsumes(...MEDIA_TYPES)
  @ApiBody(SCAN)
  @ApiHeader(KEY_HEADER)
  @ApiOkResponse({ type: IngestView })
  async ingest(
    @TheCaller() caller: Caller,
    @TheRawBody() body: RawBody,
    @Query() { mode, source }: IngestQuery,
    @Headers('idempotency-key') idempotencyKey?: string,
  ): Promise<IngestView> {
    return IngestView.of(await this.ingests.ingest(caller, body, { mode, source, idempotencyKey }));
  }

  /** Imports the result of a source scan: CycloneDX 1.4 to 1.7, SARIF 2.1.0, or the JSON of a sensor. */
  @Post('v1/import/source-scan')
  @HttpCode(HttpStatus.OK)
  @Needs('inventory:write')
  @TakesRaw(DOCUMENT_LIMIT, MEDIA_TYPES)
  @ApiConsumes(...MEDIA_TYPES)
  @ApiBody(SCAN)
  @ApiHeader(KEY_HEADER)
  @ApiOkResponse({ type: IngestView })
  async importSourceScan(
    @TheCaller() caller: Caller,
    @TheRawBody() body: RawBody,
    @Query() { mode, source }: IngestQuery,
    @Headers('idempotency-key') idempotencyKey?: string,
  ): Promise<IngestView> {
    return IngestView.of(await this.ingests.ingest(caller, body, { mode, source, idempotencyKey }));
  }
}
