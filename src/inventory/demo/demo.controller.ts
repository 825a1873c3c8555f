import { Controller, Delete, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Needs, TheCaller } from '../../access/access.js';
import type { Caller } from '../../access/caller.js';
import { DemoRemovedView, DemoView } from './demo.dto.js';
import { DemoService } from './demo.service.js';

@ApiTags('Inventory')
@Controller('api/demo')
export class DemoController {
  constructor(private readonly demo: DemoService) {}

  /** Shows whether demo data is in the inventory. */
  @Get()
  @Needs('inventory:read')
  async getDemo(): Promise<DemoView> {
    return DemoView.of(await this.demo.sources());
  }

  /** Takes the demo data out of the inventory: its sources, what only they show, and the days that were made up. */
  @Delete()
  @Needs('inventory:write')
  async removeDemo(@TheCaller() caller: Caller): Promise<DemoRemovedView> {
    return DemoRemovedView.of(await this.demo.remove(caller));
  }
}
