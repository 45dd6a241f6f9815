"""Assembly text of gfx942: read it, and find what the hardware will not wait for.

>>> report = lint("v_mfma_f32_4x4x4_16b_f16 v[0:3], v[4:5], v[6:7], 0\\nv_add_f32 v8, v0, v9")
>>> for finding in report.findings: print(finding.line, finding.rule, finding.reason, sep="\\n")
2
valu-reads-result
v0 is in D of v_mfma_f32_4x4x4_16b_f16 on line 1 (2 passes); a VALU instruction reads D after 0 wait states; it needs \
5: 5 are missing.
"""

from mfma.asm.findings import Finding, Note, Report
from mfma.asm.lint import lint
from mfma.asm.reader import Program, read

__all__ = ["Finding", "Note", "Program", "Report", "lint", "read"]
