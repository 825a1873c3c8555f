import { Body, Controller, Get, HttpCode, HttpStatus, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs } from '../../../access/access.js';
import { IdParam } from '../../../platform/http/id-param.js';
import {
  BomLinkBody,
  BomLinkDocumentsQuery,
  BomLinkList,
  BomLinkQuery,
  BomLinkView,
  LinkedDocumentPage,
} from './bom-link.dto.js';
import { BomLinksReader } from './bom-links.reader.js';

@ApiTags('Inventory')
@Controller('api/bom-link')
export class BomLinkController {
  constructor(private readonly links: BomLinksReader) {}

  /**
   * Create a BOM-Link
   * @remarks Returns the BOM-Link of a document or of one of its elements.
   */
  @Post()
  @HttpCode(HttpStatus.OK)
  @Needs('inventory:read')
  async makeBomLink(@Body() body: BomLinkBody): Promise<BomLinkView> {
    return BomLinkView.of(await this.links.resolve(body.toLink()));
  }

  /**
   * Resolve a BOM-Link
   * @remarks Returns the document or element that a BOM-Link refers to, in any version of the document.
   */
  @Get('resolve')
  @Needs('inventory:read')
  async resolveBomLink(@Query() { link }: BomLinkQuery): Promise<BomLinkView> {
    return BomLinkView.of(await this.links.resolve(link));
  }

  /**
   * List linkable documents
   * @remarks Returns all versions of the documents that BOM-Links can refer to, newest first.
   */
  @Get('documents')
  @Needs('inventory:read')
  async listLinkedDocuments(
    @Query() { serialNumber, limit, cursor }: BomLinkDocumentsQuery,
  ): Promise<LinkedDocumentPage> {
    return LinkedDocumentPage.of(await this.links.documents(serialNumber, limit, cursor));
  }

  /**
   * List BOM-Links of an asset
   * @remarks Returns the links to an asset, from each source's newest document that contains the asset.
   */
  @Get('assets/:id')
  @Needs('inventory:read')
  async listAssetBomLinks(@Param() { id }: IdParam): Promise<BomLinkList> {
    return BomLinkList.of(await this.links.ofAsset(id));
  }
}
