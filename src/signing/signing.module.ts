import { BullModule } from '@nestjs/bull';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { HsmModule } from '../hsm/hsm.module.js';
import { QueueModule } from '../platform/queue/queue.module.js';
import { Certificate } from './certificates/certificate.entity.js';
import { CertificatesController } from './certificates/certificates.controller.js';
import { CertificatesReader } from './certificates/certificates.reader.js';
import { CertificatesService } from './certificates/certificates.service.js';
import { CertificationRequestsService } from './certificates/certification-requests.service.js';
import { SigningKeyLifeService } from './keys/signing-key-life.service.js';
import { SigningKeyReader } from './keys/signing-key.reader.js';
import { SigningKeyVersion } from './keys/signing-key-version.entity.js';
import { SigningKey } from './keys/signing-key.entity.js';
import { SigningKeysController } from './keys/signing-keys.controller.js';
import { SigningKeysService } from './keys/signing-keys.service.js';
import { SettledRequests } from './requests/settled-requests.js';
import { SigningAttempts } from './requests/signing-attempts.js';
import { SigningClaims } from './requests/signing-claims.js';
import { SigningExecutor } from './requests/signing-executor.js';
import { SignatureMaker } from './requests/signature-maker.js';
import { SigningEnvelope } from './requests/signing-envelope.entity.js';
import { SigningIntake } from './requests/signing-intake.js';
import { SigningLedger } from './requests/signing-ledger.js';
import { SigningRelay } from './requests/signing-relay.js';
import { SigningRequest } from './requests/signing-request.entity.js';
import { SigningRequestsReader } from './requests/signing-requests.reader.js';
import { SigningController } from './requests/signing.controller.js';
import { SigningProcessor } from './requests/signing.processor.js';
import { SIGNING_QUEUE } from './requests/signing.queue.js';
import { SigningSchedule } from './requests/signing.schedule.js';
import { SigningService } from './requests/signing.service.js';
import { ClockGuard } from './timestamping/clock-guard.js';
import { TimestampAuthority } from './timestamping/timestamp-authority.js';
import { TimestampClient } from './timestamping/timestamp-client.js';
import { TimestampDesk } from './timestamping/timestamp-desk.js';
import { TimestampKeys } from './timestamping/timestamp-keys.js';
import { TimestampLedger } from './timestamping/timestamp-ledger.js';
import { TimestampSources } from './timestamping/timestamp-sources.js';
import { Timestamp } from './timestamping/timestamp.entity.js';
import { TimestampingController } from './timestamping/timestamping.controller.js';
import { TimestampingHttp } from './timestamping/timestamping.http.js';

@Module({
  imports: [
    HsmModule,
    QueueModule,
    BullModule.registerQueue({ name: SIGNING_QUEUE }),
    TypeOrmModule.forFeature([Certificate, SigningEnvelope, SigningKey, SigningKeyVersion, SigningRequest, Timestamp]),
  ],
  controllers: [CertificatesController, SigningController, SigningKeysController, TimestampingController],
  providers: [
    CertificatesReader,
    CertificatesService,
    ClockGuard,
    CertificationRequestsService,
    SettledRequests,
    SignatureMaker,
    SigningAttempts,
    SigningClaims,
    SigningExecutor,
    SigningIntake,
    SigningKeyLifeService,
    SigningKeyReader,
    SigningKeysService,
    SigningLedger,
    SigningRelay,
    SigningRequestsReader,
    SigningService,
    TimestampAuthority,
    TimestampClient,
    TimestampDesk,
    TimestampSources,
    TimestampKeys,
    TimestampLedger,
    TimestampingHttp,
  ],
  exports: [
    TimestampLedger,
    SigningExecutor,
    SigningClaims,
    SigningKeyReader,
    SigningKeysService,
    SigningService,
    BullModule,
  ],
})
export class SigningModule {}

/** The background half: hears the doorbell and looks after what was left behind. */
@Module({
  imports: [SigningModule],
  providers: [SigningProcessor, SigningSchedule],
})
export class SigningWorkerModule {}
