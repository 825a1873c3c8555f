import { BullModule } from '@nestjs/bull';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ApprovalsModule } from '../approvals/approvals.module.js';
import { HsmModule } from '../hsm/hsm.module.js';
import { QueueModule } from '../platform/queue/queue.module.js';
import { signalRelay } from '../platform/queue/signal-relay.js';
import { SigningBatch, SigningEnvelope, SigningRequest } from './signing-request.entity.js';
import { SignBatchValidator } from './batches/sign-batch-validator.js';
import { DualSignaturesService, SigningBatchesService } from './batches/signing-batches.service.js';
import { SigningBatchesController } from './batches/signing-batches.controller.js';
import { SigningBatchesReader } from './batches/signing-batches.reader.js';
import { ApprovalCheck } from './requests/approval-check.js';
import { RefusedClaims } from './requests/refused-claims.js';
import { ClaimCheck } from './requests/claim-check.js';
import { ApprovalRenewal } from './requests/approval-renewal.js';
import { StoppedKeyRequests } from './requests/stopped-key-requests.js';
import { HeldBatches } from './batches/held-batches.js';
import { HeldRequests } from './requests/held-requests.js';
import { ApprovalGate } from './requests/approval-gate.js';
import { Certificate } from './certificates/certificate.entity.js';
import { SigningCertificateEndings } from './certificates/signing-certificate-endings.service.js';
import { CertificatesController } from './certification/certificates.controller.js';
import { CertificatesReader } from './certificates/certificates.reader.js';
import { CertificatesService } from './certificates/certificates.service.js';
import { CertificationRequestsService } from './certification/certification-requests.service.js';
import { SelfSignedCertificatesService } from './certification/self-signed-certificates.service.js';
import { ApprovedRequests } from './evidence/approved-requests.js';
import { JsonSignaturesService } from './verification/json-signatures.service.js';
import { EvidenceController } from './evidence/evidence.controller.js';
import { EvidenceService } from './evidence/evidence.service.js';
import { FacadeCredentials } from './facades/facade-credentials.js';
import { SignServerController } from './facades/sign-server.controller.js';
import { SignServerService } from './facades/sign-server.service.js';
import { EarlierRequests } from './facades/earlier-requests.js';
import { FacadeSigning } from './facades/facade-signing.js';
import { VaultSystemController } from './facades/vault-system.controller.js';
import { VaultSystemService } from './facades/vault-system.service.js';
import { TransitController } from './facades/transit.controller.js';
import { TransitService } from './facades/transit.service.js';
import { OpenPgpCertificatesController } from './openpgp/openpgp-certificates.controller.js';
import { OpenPgpCertificatesService } from './openpgp/openpgp-certificates.service.js';
import { OpenPgpStatement } from './openpgp/openpgp-statement.entity.js';
import { OpenPgpStatementsRepository } from './openpgp/openpgp-statements.repository.js';
import { SigningKeyDestroyer } from './keys/signing-key-destroyer.js';
import { SigningKeyDestructionController, SigningKeysController } from './keys/signing-keys.controller.js';
import { SigningKeyDestruction, SigningKeyUsage, SigningKey } from './keys/signing-key.entity.js';
import { SigningKeyDestructionService } from './keys/signing-key-destruction.service.js';
import { SigningCryptoAssets } from './keys/signing-crypto-assets.js';
import { SigningKeyLifeService } from './keys/signing-key-life.service.js';
import { SigningKeyTermsService } from './keys/signing-key-terms.service.js';
import { SigningKeyReader } from './keys/signing-key.reader.js';
import { SigningKeyVersion } from './keys/signing-key-version.entity.js';
import { SigningKeysService } from './keys/signing-keys.service.js';
import { RequestWatch, SigningRequestsReader } from './requests/signing-requests.reader.js';
import { SigningClaims } from './requests/signing-claims.js';
import { SigningExecutor } from './requests/signing-executor.js';
import { Signer } from './requests/signer.js';
import { SigningOutcomeRepository } from './requests/signing-outcome.repository.js';
import { SignRequestValidator } from './requests/sign-request-validator.js';
import { SigningRequestListReader } from './requests/signing-request-list.reader.js';
import { SigningRequestRepository } from './requests/signing-request.repository.js';
import { SigningProcessor } from './requests/signing.processor.js';
import { SigningController } from './signing.controller.js';
import { MAX_PER_SIGNAL, SIGNING_QUEUE, type SigningSignal } from './signing-jobs.js';
import { SigningRecovery, SigningUpkeep } from './requests/signing-background.js';
import { SigningService } from './requests/signing.service.js';
import { BuildAttestationsController } from './attestations/build-attestations.controller.js';
import { BuildAttestationsService } from './attestations/build-attestations.service.js';
import { WorkloadProofReader } from './evidence/workload-proof.reader.js';
import { ClockGuard } from './timestamping/clock-guard.js';
import { TimestampAdmission, TimestampingHttp } from './timestamping/timestamping.http.js';
import { TimestampAuthority } from './timestamping/timestamp-authority.js';
import { TimestampClient } from './timestamping/timestamp-client.js';
import { TsaResponder } from './timestamping/tsa-responder.js';
import { TimestampKeys, TimestampingHealth } from './timestamping/timestamp-keys.js';
import { TimestampRepository } from './timestamping/timestamp.repository.js';
import { TimestampSources } from './timestamping/timestamp-sources.js';
import { Timestamp } from './timestamping/timestamp.entity.js';
import { TimestampingController } from './timestamping/timestamping.controller.js';
import { VerificationController } from './verification/verification.controller.js';
import { VerificationService } from './verification/verification.service.js';
import { VerificationSubjects } from './verification/verification-subjects.js';

@Module({
  imports: [
    ApprovalsModule,
    HsmModule,
    QueueModule,
    BullModule.registerQueue({ name: SIGNING_QUEUE }),
    TypeOrmModule.forFeature([
      Certificate,
      OpenPgpStatement,
      SigningBatch,
      SigningEnvelope,
      SigningKey,
      SigningKeyDestruction,
      SigningKeyUsage,
      SigningKeyVersion,
      SigningRequest,
      Timestamp,
    ]),
  ],
  controllers: [
    BuildAttestationsController,
    CertificatesController,
    EvidenceController,
    OpenPgpCertificatesController,
    SigningBatchesController,
    SigningController,
    SigningKeyDestructionController,
    SigningKeysController,
    TimestampingController,
    SignServerController,
    TransitController,
    VaultSystemController,
    VerificationController,
  ],
  providers: [
    ApprovalCheck,
    RefusedClaims,
    BuildAttestationsService,
    ClaimCheck,
    ApprovalRenewal,
    CertificatesReader,
    CertificatesService,
    ClockGuard,
    CertificationRequestsService,
    EvidenceService,
    ApprovedRequests,
    SignBatchValidator,
    HeldBatches,
    HeldRequests,
    JsonSignaturesService,
    OpenPgpCertificatesService,
    OpenPgpStatementsRepository,
    SigningCryptoAssets,
    RequestWatch,
    ApprovalGate,
    Signer,
    SigningOutcomeRepository,
    DualSignaturesService,
    SigningBatchesReader,
    SigningBatchesService,
    SigningClaims,
    SelfSignedCertificatesService,
    SigningExecutor,
    SignRequestValidator,
    SigningKeyDestroyer,
    SigningKeyDestructionService,
    SigningKeyLifeService,
    SigningKeyReader,
    SigningKeyTermsService,
    SigningKeysService,
    SigningRequestRepository,
    SigningRequestListReader,
    SigningRequestsReader,
    SigningService,
    TimestampAdmission,
    TimestampAuthority,
    TimestampClient,
    TsaResponder,
    TimestampSources,
    TimestampKeys,
    TimestampRepository,
    TimestampingHealth,
    TimestampingHttp,
    FacadeCredentials,
    EarlierRequests,
    FacadeSigning,
    SignServerService,
    TransitService,
    VaultSystemService,
    VerificationService,
    VerificationSubjects,
    WorkloadProofReader,
    signalRelay(SIGNING_QUEUE, MAX_PER_SIGNAL, (requestIds): SigningSignal => ({ requestIds })),
  ],
  exports: [
    ApprovalRenewal,
    HeldRequests,
    JsonSignaturesService,
    TimestampRepository,
    SigningExecutor,
    SigningClaims,
    SigningKeyDestroyer,
    SigningKeyReader,
    SigningKeysService,
    SigningService,
    BullModule,
  ],
})
export class SigningModule {}

/** SigningWorkerModule signs the requests of job signals and recovers requests whose signal or process was lost. */
@Module({
  imports: [ApprovalsModule, SigningModule],
  providers: [SigningCertificateEndings, SigningProcessor, SigningRecovery, SigningUpkeep, StoppedKeyRequests],
})
export class SigningWorkerModule {}
