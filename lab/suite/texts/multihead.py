

def heed_multihead(module, x):
    # nn.MultiheadAttention of one tensor, [sequence, batch, width], without the weights that it averages
    x = x.transpose(0, 1) if module.batch_first else x
    s, b, width = x.shape
    heads = module.num_heads
    x = torch.nn.functional.linear(x.reshape(s * b, width), module.in_proj_weight, module.in_proj_bias)
    q, k, v = x.view(s, b, 3, heads, width // heads).permute(2, 1, 3, 0, 4)
    o = heed_attention(q, k, v, False, None)
    o = module.out_proj(o.permute(2, 0, 1, 3).reshape(s, b, width))
    return (o.transpose(0, 1) if module.batch_first else o), None
