import { Transform } from 'class-transformer';
import { IsBoolean, IsOptional } from 'class-validator';
import { OneOf, Optional, Text } from '../../../platform/http/fields/fields.js';
import type { Mode } from '../cyclonedx/bom-lists.js';
import type { IngestOutcome } from '../../model/document.js';

export class IngestQuery {
  /**
   * `strict` rejects documents that contain faults. `repair` fixes faults that can be fixed without loss, such as repeated list items, and lists the repairs.
   */
  @Optional(OneOf(['strict', 'repair'], { default: 'repair' })) mode?: Mode;
  /** Name of the described application or repository. If omitted, the name in the document is used. @example https://git.example.com/shop */
  @Optional(Text(1, 500)) source?: string;
  /**
   * Whether to respond with 202 immediately and import the document in the background. Recommended for large documents. `Location` contains the URL of the
   * import.
   */
  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value === 'false' ? false : value))
  @IsBoolean()
  async?: boolean;
}

export class RejectionView {
  /** Index in the submitted list, starting at 0. @example 3 */
  index: number;
  /** JSON Pointer (RFC 6901) into the body. @example /assets/3/component/name */
  pointer: string;
  /** @example asset.invalid */
  code: string;
  /** @example "must have a name" */
  detail: string;
}

export class RemarkView {
  /** @example /dependencies/7 */
  pointer: string;
  /** @example duplicate.removed */
  code: string;
  /** @example "a repeated dependency was removed" */
  detail: string;
}

export class IngestView {
  /** ID of the document. The same bytes from the same source have the same ID. @example 01945f2e-0c1f-7c7e-9a53-3d0a4f7f7d11 */
  documentId: string;
  /** @example https://github.com/keycloak/keycloak */
  source: string;
  /** @example "CycloneDX 1.6" */
  format: string;
  /** Number of cryptographic assets, and of components that use cryptographic assets. @example 56 */
  received: number;
  /**
   * Number of assets that were new to the inventory. For callers without `inventory:read`: number of assets that the source reported for the first time.
   *
   * @example 40
   */
  created: number;
  /** Number of assets whose description changed. 0 for callers without `inventory:read`. @example 0 */
  updated: number;
  /** @example 16 */
  unchanged: number;
  /** Number of components that are not cryptographic and do not use cryptography. @example 0 */
  ignored: number;
  rejected: RejectionView[];
  repairs: RemarkView[];
  warnings: RemarkView[];

  static of(outcome: IngestOutcome): IngestView {
    const { rejected, repairs, warnings, ...counts } = outcome;
    return { ...counts, rejected: [...rejected], repairs: [...repairs], warnings: [...warnings] };
  }
}
