import { Controller, Delete, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../../access/access.js';
import type { Caller } from '../../../access/caller.js';
import { DemoRemovedView, DemoView } from './demo.dto.js';
import { DemoService } from './demo.service.js';

@ApiTags('Inventory')
@Controller('api/demo')
export class DemoController {
  constructor(private readonly demo: DemoService) {}

  /**
   * Get demo data status
   * @remarks Reports whether the inventory contains demo data.
   */
  @Get()
  @Needs('inventory:read')
  async getDemo(): Promise<DemoView> {
    return DemoView.of(await this.demo.sources());
  }

  /**
   * Delete demo data
   * @remarks Deletes the demo sources, the assets that only they contain, and the demo history.
   */
  @Delete()
  @Needs('inventory:write')
  async removeDemo(@TheCaller() caller: Caller): Promise<DemoRemovedView> {
    return DemoRemovedView.of(await this.demo.remove(caller));
  }
}
