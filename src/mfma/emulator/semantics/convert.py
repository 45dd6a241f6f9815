"""Conversions between floats and integers, and pairs of results in one register."""

from __future__ import annotations

from mfma.emulator.decode import Instruction
from mfma.emulator.semantics.machine import Machine
from mfma.emulator.semantics.registry import Basis, machine
from mfma.emulator.semantics.valu import finished, flushed, read_sources, vector
from mfma.emulator.semantics.values import B8, B16, B32, F16, F32, F64, Type, Value

FLOATS = {"f16": F16, "f32": F32, "f64": F64}
INTEGERS = {"u16": B16, "i16": B16, "u32": B32, "i32": B32}

# result, source
PAIRS = (
    "f16 f32", "f32 f16", "f32 f64", "f64 f32",
    "f16 u16", "f16 i16", "f32 u32", "f32 i32", "f64 u32", "f64 i32",
    "u16 f16", "i16 f16", "u32 f32", "i32 f32", "u32 f64", "i32 f64",
)  # fmt: skip
for pair in PAIRS:
    to, of = pair.split()
    target, source = ({**FLOATS, **INTEGERS}[name] for name in (to, of))
    if not source.is_float:
        convert = Value.signed_to if of.startswith("i") else Value.unsigned_to
    elif target.is_float:
        convert = Value.to_float
    else:
        convert = Value.to_signed if to.startswith("i") else Value.to_unsigned
    vector(f"v_cvt_{to}_{of}", result=target, sources=(source,))(lambda x, f=convert, t=target: f(x, t))

for n in range(4):
    vector(f"v_cvt_f32_ubyte{n}", result=F32, sources=(B32,))(lambda x, n=n: x.bits(8 * n, 8).unsigned_to(F32))

vector("v_cvt_flr_i32_f32", result=B32, sources=(F32,))(lambda x: x.floor().to_signed(B32))
vector("v_cvt_rpi_i32_f32", result=B32, sources=(F32,))(lambda x: (x + 0.5).floor().to_signed(B32))


@vector("v_cvt_off_f32_i4", result=F32, sources=(B32,))
def _sixteenths(x: Value) -> Value:
    """The low four bits, with their sign, as sixteenths."""
    return (x << 28).sar(28).signed_to(F32) * 0.0625


# numbers from 0 or -1 to 1 as fractions of the largest integer

NEAREST = "the manual does not say how it rounds: to nearest even here"


def norm(x: Value, signed: bool) -> Value:
    """A number clamped to -1 (0) to 1 as a multiple of 1/32767 (1/65535), B16; 0 for a NaN."""
    wide = x.to_float(F64)
    lowest = wide.like(-1.0 if signed else 0.0)
    low = (wide < lowest).select(lowest, wide)
    clamped = (low > 1.0).select(wide.like(1.0), low)
    scaled = (clamped * (32767.0 if signed else 65535.0)).rint()
    return scaled.to_signed(B16) if signed else scaled.to_unsigned(B16)


for sign, signed in ("i16", True), ("u16", False):
    for t, T in ("f16", F16), ("f32", F32):
        vector(f"v_cvt_pknorm_{sign}_{t}", result=B32, sources=(T, T), basis=Basis.ASSUMED, note=NEAREST)(
            lambda a, b, s=signed: norm(a, s).concat(norm(b, s))
        )
    vector(f"v_cvt_norm_{sign}_f16", result=B16, sources=(F16,), basis=Basis.ASSUMED, note=NEAREST)(
        lambda x, s=signed: norm(x, s)
    )


def byte(x: Value) -> Value:
    """A number as an integer from 0 to 255, B32; 0 for a NaN."""
    return x.rint().to_unsigned(B8).zext(B32)


@vector("v_cvt_pk_u8_f32", result=B32, sources=(F32, B32, B32), basis=Basis.ASSUMED, note=NEAREST)
def insert_byte(x: Value, place: Value, old: Value) -> Value:
    """Put a number into one of the four bytes."""
    low = place.bits(0, 2) << 3
    return old & ~(low.like(0xFF) << low) | byte(x) << low


vector("v_cvt_pkaccum_u8_f32", result=B32, sources=(F32, B32), accumulate=True, basis=Basis.ASSUMED, note=NEAREST)(
    insert_byte
)

# pairs


def _saturated(x: Value, low: int, high: int) -> Value:
    raised = x.slt(low).select(x.like(low), x) if low else x
    above = x.like(high).slt(raised) if low else x.like(high).ult(raised)
    return above.select(x.like(high), raised).trunc(B16)


vector("v_cvt_pk_u16_u32", result=B32, sources=(B32, B32))(
    lambda a, b: _saturated(a, 0, 0xFFFF).concat(_saturated(b, 0, 0xFFFF))
)
vector("v_cvt_pk_i16_i32", result=B32, sources=(B32, B32))(
    lambda a, b: _saturated(a, -0x8000, 0x7FFF).concat(_saturated(b, -0x8000, 0x7FFF))
)
vector("v_pack_b32_f16", result=B32, sources=(F16, F16))(lambda a, b: a.as_int().concat(b.as_int()))


def toward_zero(x: Value, type_: Type) -> Value:
    """A float as a narrower one, rounded toward zero; numbers too large become the largest."""
    nearest = x.to_float(type_)
    above = nearest.to_float(x.type).fabs() > x.fabs()
    return above.select((nearest.as_int() - 1).bitcast(type_), nearest)


@machine("v_cvt_pkrtz_f16_f32")
def _pack_toward_zero(m: Machine, i: Instruction) -> None:
    values, mask = read_sources(m, (F32, F32), m.exec)
    sources = [flushed(m, value) for value in values]
    low, high = (finished(m, toward_zero(source, F16), [source]).as_int() for source in sources)
    m.set_vgpr_indexed(m.register(i.dst[0]), low.concat(high), mask)
